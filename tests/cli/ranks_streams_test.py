#!/usr/bin/python3
"""Ranks of a batch with fewer streams than ranks evaluate as one process does."""
import ranks_test
import support
from support import Case


class RanksOfStreams(Case):
    BACKEND = "cpu"
    train, check_equal, check_ranks = ranks_test.Ranks.train, ranks_test.Ranks.check_equal, ranks_test.Ranks.check_ranks
    text = ranks_test.Ranks.text

    def test_carried_states_of_fewer_streams_than_ranks(self):
        """A rank without a stream adds nothing to an evaluation, and the others keep the streams of the batch."""
        self.text()
        for batch in 1, 3:
            self.check_ranks(self.spec(ranks_test.TEXT, batch_size=batch), ranks=(2, 4))


if __name__ == "__main__":
    support.main()
