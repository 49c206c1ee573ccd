"""The statistics of bind_timing.py, on made-up times: no clock is read and no server asked. scripts/soak measures."""

from math import sqrt
from random import Random

import pytest
from bind_timing import CHANCE_MIN, chance, chance_of_distance, distance, report, slower

SAMPLES = 10_000


def times(seed: int, shift: float = 0.0, share: float = 1.0) -> list[int]:
    """Answer times as they are: a steep beginning and a long end. A share of them is shifted, in microseconds."""
    random = Random(seed)
    return [
        round(1000 * (random.lognormvariate(5, 0.3) + (shift if random.random() < share else 0)))
        for _ in range(SAMPLES)
    ]


def test_times_of_one_distribution_are_told_to_be_the_same(capsys):
    assert report({"some": times(1), "others": times(2)}) == []


def test_few_of_the_runs_report_a_difference_by_chance():
    found = 0
    for seed in range(0, 200, 2):
        a, b = times(seed)[:500], times(seed + 1)[:500]
        found += chance(slower(a, b) - 0.5, 500, 500) < 0.1
        found += chance_of_distance(distance(a, b), 500, 500) < 0.1
    assert 5 <= found <= 40, "a tenth of 200 is expected"


@pytest.mark.parametrize(
    ("shift", "share"), [(4, 1.0), (400, 0.05)], ids=["all by three in a hundred", "some much slower"]
)
def test_a_shift_is_found(capsys, shift, share):
    wrong = report({"as they are": times(1), "shifted": times(2, shift, share)})
    assert len(wrong) == 1 and "can be told apart" in wrong[0]
    assert "p50" in capsys.readouterr().out


def test_equal_times_count_half():
    assert slower([1, 1, 1], [1, 1]) == 0.5 and distance([1, 1], [1]) == 0
    assert slower([2], [1, 2, 3, 3]) == 1.5 / 4


def test_the_chance_of_a_distance_is_that_of_the_tables():
    # The critical values of Kolmogorov's distribution: 1.358 for five of a hundred, 1.949 for one of a thousand.
    of = sqrt(2 / SAMPLES)
    assert abs(chance_of_distance(1.358 * of, SAMPLES, SAMPLES) - 0.05) < 0.0005
    assert abs(chance_of_distance(1.949 * of, SAMPLES, SAMPLES) - 0.001) < 0.00005
    assert CHANCE_MIN == 0.00005
