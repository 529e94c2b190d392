from benchmarks.start import Report, summarise


def test_full_speed_is_reached_after_the_last_slow_report():
    speeds = [1.0, 90.0, 3.0, 100.0, 99.0, 101.0, 100.0]
    reports = [Report(10.0 + i, 10 * i, speed) for i, speed in enumerate(speeds, 1)]
    summary = summarise(reports)
    assert summary["first_report_s"] == 11.0
    assert summary["full_speed_s"] == 13.0
    assert summary["full_target_tokens_s"] == 100.0
    assert summary["steps"] == 70
