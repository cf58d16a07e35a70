#!/bin/sh
# levels_keep_to_themselves.sh LIBRARY...
# The objects compiled for one x86-64 level may share no symbol with the rest of the program but in their own namespace:
# of two copies of an inline function the linker keeps one, and an older machine must not be handed the newer level's.
nm --defined-only "$@" | grep -q simd_v || exit 1
bad=$(nm --defined-only --extern-only "$@" | awk 'NF == 3 && $3 !~ /^_ZN4neon11elementwise7simd_v[234]/')
if [ -n "$bad" ]; then
  echo "symbols outside neon::elementwise::simd_v*:"
  echo "$bad"
  exit 1
fi
needed=$(nm --undefined-only "$@" | awk '$1 == "U" && $2 !~ /^(mem(cpy|set|move)|_GLOBAL_OFFSET_TABLE_)$/')
if [ -n "$needed" ]; then
  echo "loops call what may be compiled for another level:"
  echo "$needed"
  exit 1
fi
