// Names of the ops that code means by themselves: `node.op->is(ops::concat)`. Each name is written here alone, and its
// op is registered under it. Ask for a trait (traits.h) wherever more than this one op could be meant.
#pragma once
#include "backends/graph/op.h"

namespace neon::ops {

// Rows of the elementwise table.
inline constexpr OpName add{"add"}, as_bf16{"as_bf16"}, as_f16{"as_f16"}, as_f32{"as_f32"}, as_fixed{"as_fixed"},
    bce_logits{"bce_logits"}, div{"div"}, equal{"equal"}, greater{"greater"}, greater_equal{"greater_equal"},
    identity{"identity"}, less{"less"}, less_equal{"less_equal"}, logistic{"logistic"}, maximum{"maximum"},
    minimum{"minimum"}, mul{"mul"}, neg{"neg"}, not_equal{"not_equal"}, pow{"pow"}, relu{"relu"},
    relu_clip{"relu_clip"}, safelog{"safelog"}, select{"select"}, square{"square"}, sub{"sub"};

inline constexpr OpName argmax{"argmax"}, batch_norm{"batch_norm"}, batch_norm_grad{"batch_norm_grad"},
    batch_matmul{"batch_matmul"}, broadcast{"broadcast"}, cast{"cast"}, columns{"columns"}, concat{"concat"},
    constant{"constant"}, convolution{"convolution"}, convolution_data_gradient{"convolution_data_gradient"},
    convolution_weight_gradient{"convolution_weight_gradient"}, crop{"crop"}, ctc{"ctc"}, ctc_grad{"ctc_grad"},
    depth_to_space{"depth_to_space"}, edit_distance{"edit_distance"}, gather{"gather"}, gru{"gru"},
    gru_grad{"gru_grad"}, histogram{"histogram"}, input{"input"}, iota{"iota"}, largest{"largest"}, nms{"nms"},
    keyed_uniform{"keyed_uniform"}, log_softmax{"log_softmax"}, lstm{"lstm"}, lstm_grad{"lstm_grad"}, max{"max"},
    min{"min"}, region_max_gradient{"region_max_gradient"}, scatter_add{"scatter_add"}, matmul{"matmul"},
    patches{"patches"}, pool_avg{"pool_avg"}, pool_avg_gradient{"pool_avg_gradient"}, pool_max{"pool_max"},
    pool_max_gradient{"pool_max_gradient"}, recurrent{"recurrent"}, recurrent_grad{"recurrent_grad"},
    region_max{"region_max"}, reshape{"reshape"}, resample{"resample"}, round_stochastic{"round_stochastic"},
    scalar{"scalar"}, slice{"slice"}, softmax{"softmax"}, softmax_cross_entropy{"softmax_cross_entropy"},
    split{"split"}, sum{"sum"}, transpose{"transpose"}, uniform{"uniform"}, variable{"variable"};

inline constexpr OpName attention{"attention"}, attention_grad{"attention_grad"}, exchange{"exchange"},
    all_gather{"all_gather"}, all_to_all{"all_to_all"}, reduce_scatter{"reduce_scatter"};

}  // namespace neon::ops
