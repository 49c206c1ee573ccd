"""The scenarios of bench/ at a small size: what must be right in them whatever the machine does. Their figures are in bench/RESULTS.md."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import aging
import groups
import scenario003


# S3-01, S3-17, S3-18, S3-19, S3-20, S3-21, S3-22, S3-23, S3-27, S3-29, S3-30, S3-32
def test_the_story_of_document_003(tmp_path):
    scenario003.main(["--folder", str(tmp_path), "--scale", "0.002", "--seconds", "4", "--interval", "1", "--rate", "60", "--deletes", "5"])


# S3-25, S3-26, S3-33
def test_a_burst_of_deletes_refuses_nothing_and_leaves_no_reference(tmp_path):
    groups.main(["deletes", "--folder", str(tmp_path), "--users", "1200", "--seconds", "2", "--deletes-per-second", "150",
                 "--groups", "20", "--searchers", "3", "--rate", "60"])


# S2-06
def test_a_user_is_in_groups_of_groups(tmp_path):
    groups.main(["depth", "--folder", str(tmp_path), "--groups", "100", "--times", "5"])


# S3-03
def test_many_updates_leave_what_a_fresh_import_makes(tmp_path):
    aging.main(["--folder", str(tmp_path), "--updates", "3000", "--entries", "600", "--turns", "1"])
