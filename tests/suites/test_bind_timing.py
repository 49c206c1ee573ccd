"""The statistics of bind_timing.py, on made-up times: no clock is read and no server asked. scripts/soak measures."""

from random import Random

import pytest
from bind_timing import ADVANTAGE_MAX, DISTANCE_MAX, chance, distance, report, slower

SAMPLES = 10_000


def times(seed: int, shift: float = 0.0, share: float = 1.0) -> list[int]:
    """Answer times as they are: a steep beginning and a long end. A share of them is shifted, in microseconds."""
    random = Random(seed)
    return [
        round(1000 * (random.lognormvariate(5, 0.3) + (shift if random.random() < share else 0)))
        for _ in range(SAMPLES)
    ]


def test_times_of_one_distribution_are_told_to_be_the_same():
    a, b = times(1), times(2)
    assert abs(slower(a, b) - 0.5) < ADVANTAGE_MAX / 4 and distance(a, b) < DISTANCE_MAX / 4
    assert chance(slower(a, b) - 0.5, SAMPLES, SAMPLES) > 0.001


@pytest.mark.parametrize(("shift", "share"), [(15, 1.0), (400, 0.12)], ids=["all a tenth slower", "some much slower"])
def test_a_shift_is_found(capsys, shift, share):
    wrong = report({"as they are": times(1), "shifted": times(2, shift, share)})
    assert len(wrong) == 1 and "can be told apart" in wrong[0]
    assert "p50" in capsys.readouterr().out


def test_equal_times_count_half():
    assert slower([1, 1, 1], [1, 1]) == 0.5 and distance([1, 1], [1]) == 0
    assert slower([2], [1, 2, 3, 3]) == 1.5 / 4
