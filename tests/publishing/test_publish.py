"""What is published stays, nothing else in the repository moves, and what should not be published is refused."""

import json
from pathlib import Path

import pytest

from replay.graders import load
from replay.publishing import results
from replay.publishing.publish import publish
from replay.regrade import Options as RegradeOptions
from replay.regrade import regrade
from replay.seal.sealing import seal
from schemas.errors import KorvidError, LogError, UsageError, WorkError
from tests.publishing.tools import git, graded, make_publishable, options, publish_one
from tests.synthetic import Options, generate


def state(repository: Path) -> tuple[str, ...]:
    """All of a repository that is the user's."""
    return (
        git(repository, "status", "--porcelain=v2", "--branch"),
        git(repository, "ls-files", "--stage"),
        git(repository, "rev-parse", "HEAD"),
        (repository / "code.py").read_text(),
        (repository / "notes.txt").read_text(),
    )


def test_publishing_leaves_work_tree_index_and_head_alone(pristine: Path, repository: Path) -> None:
    before = state(repository)
    done = publish_one(pristine, repository)
    assert state(repository) == before
    assert done.landed is not None
    assert git(repository, "rev-parse", "eval-results") == done.landed.commit
    assert git(repository, "rev-list", "--count", "eval-results") == "1"


def test_a_publication_holds_events_index_manifest_grades_scoreboard_and_sums(fetched: Path, directory: Path) -> None:
    names = {path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file()}
    grades = {name for name in names if name.startswith("grades/")}
    assert names - grades == {
        "SHA256SUMS", "campaign.json", "events.index.json", "events.jsonl.zst", "publication.json",
        "scoreboard.html", "scoreboard.md",
    }  # fmt: skip
    assert len(grades) == 4
    assert directory.name in (fetched / "RESULTS.md").read_text()


def test_the_commit_carries_no_name_and_no_time_zone(pristine: Path, repository: Path) -> None:
    publish_one(pristine, repository)
    told = git(repository, "log", "-1", "--format=%an %ae %cn %ce %ad", "--date=format:%z", "eval-results")
    assert told == "korvid-replay korvid-replay@localhost korvid-replay korvid-replay@localhost +0000"


def test_publishing_the_same_campaign_again_sealed_or_not_adds_nothing(campaign: Path, repository: Path) -> None:
    first = publish_one(campaign, repository)
    seal(campaign)
    second = publish_one(campaign, repository)
    assert first.landed is not None
    assert second.landed is not None
    assert second.landed.commit == first.landed.commit
    assert [placed.already for placed in (*first.landed.placed, *second.landed.placed)] == [False, True]


def test_a_published_directory_never_changes_and_a_correction_is_one_of_its_own(
    campaign: Path, repository: Path
) -> None:
    first = publish_one(campaign, repository)
    assert first.landed is not None
    regrade(campaign, load("claims@2"), RegradeOptions())
    with pytest.raises(WorkError, match=r"grades/claims@2.*--supersedes campaigns/"):
        publish_one(campaign, repository)
    with pytest.raises(WorkError, match=r"grades/claims@2.*--supersedes campaigns/"):
        publish_one(campaign, repository, dry_run=True)
    second = publish_one(campaign, repository, supersedes=campaign.name)
    third = publish_one(campaign, repository, supersedes=campaign.name)
    assert second.landed is not None
    assert third.landed is not None
    assert second.landed.placed[0].directory == f"campaigns/{campaign.name}-2"
    assert (third.landed.commit, third.landed.placed[0].already) == (second.landed.commit, True)
    old = f"campaigns/{campaign.name}"
    assert git(repository, "rev-parse", f"{first.landed.commit}:{old}") == git(
        repository, "rev-parse", f"eval-results:{old}"
    )
    index = git(repository, "show", "eval-results:RESULTS.md")
    assert f"supersedes campaigns/{campaign.name}" in index
    assert results.parse(f"{index}\n".encode()).rows.keys() == {campaign.name, f"{campaign.name}-2"}
    with pytest.raises(UsageError, match="not on the branch"):
        publish_one(campaign, repository, supersedes="nothing")


def test_an_unpublishable_campaign_is_refused_or_says_why_it_is(campaign: Path, repository: Path) -> None:
    make_publishable(campaign, publishable=False, not_publishable_because=["the model was not warmed up"])
    with pytest.raises(WorkError, match=r"the model was not warmed up.*--allow-unpublishable"):
        publish_one(campaign, repository)
    publish_one(campaign, repository, allow_unpublishable=True)
    index = git(repository, "show", "eval-results:RESULTS.md")
    assert "not valid for comparison: the model was not warmed up" in index


def test_a_manifest_that_contradicts_itself_is_refused(campaign: Path, repository: Path) -> None:
    make_publishable(campaign, publishable=None)
    with pytest.raises(WorkError, match="does not say that it may be published"):
        publish_one(campaign, repository)


def test_a_campaign_over_the_limit_is_refused_and_told_what_to_drop(campaign: Path, repository: Path) -> None:
    noise = "".join(f"{number * 7919 % 99991:x} " for number in range(400_000))
    (campaign / "grades" / "old.txt").write_text(noise)
    with pytest.raises(WorkError, match=r"grades/old.txt 2.* MiB.*drop older grades"):
        publish_one(campaign, repository, max_mib=1)


def test_a_dry_run_shows_it_all_and_stores_no_object(campaign: Path, repository: Path) -> None:
    before = git(repository, "count-objects", "-v")
    shown = publish_one(campaign, repository, dry_run=True)
    assert shown.landed is None
    assert git(repository, "count-objects", "-v") == before
    assert git(repository, "for-each-ref", "refs/heads/eval-results") == ""
    done = publish_one(campaign, repository)
    assert shown.campaigns == done.campaigns


def test_a_branch_that_is_checked_out_is_refused(campaign: Path, repository: Path) -> None:
    git(repository, "commit", "-q", "-m", "more")
    git(repository, "checkout", "-q", "-b", "eval-results")
    with pytest.raises(UsageError, match="checked out in"):
        publish_one(campaign, repository)


def test_what_others_keep_on_the_branch_stays(campaign: Path, repository: Path) -> None:
    (repository / "other").mkdir()
    blob = git(repository, "hash-object", "-w", "--stdin", data=b"# Our results\n\nby hand\n")
    tree = git(repository, "mktree", data=f"100644 blob {blob}\tRESULTS.md\n100644 blob {blob}\told.md\n".encode())
    git(repository, "update-ref", "refs/heads/eval-results", git(repository, "commit-tree", tree, "-m", "old"))
    publish_one(campaign, repository)
    assert git(repository, "rev-parse", "eval-results:old.md") == blob
    index = git(repository, "show", "eval-results:RESULTS.md")
    assert index.startswith("# Our results\n\nby hand\n")
    assert campaign.name in index


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda c: (c / "campaign.json").unlink(), "missing"),
        (lambda c: (c / "campaign.json").write_text("{"), "not a campaign manifest"),
        (lambda c: [p.unlink() for p in (c / "grades").iterdir()], "nothing is graded yet"),
        (lambda c: next((c / "grades").glob("*.json")).unlink(), "has no receipt"),
        (lambda c: next((c / "grades").glob("*.parquet")).unlink(), "is missing"),
        (lambda c: next((c / "grades").glob("*.parquet")).write_bytes(b"PAR1"), "not what its receipt says"),
        (lambda c: next((c / "runs").iterdir()).write_bytes(b"noise"), "cannot be trusted"),
        (lambda c: make_publishable(c, campaign_id="../x"), "cannot name a directory"),
    ],
)
def test_a_campaign_that_is_not_whole_is_refused(harm: object, message: str, campaign: Path, repository: Path) -> None:
    harm(campaign)  # type: ignore[operator]
    with pytest.raises(KorvidError, match=message):
        publish_one(campaign, repository)
    assert git(repository, "for-each-ref", "refs/heads/eval-results") == ""


def test_a_campaign_that_is_being_recorded_is_refused(campaign: Path, repository: Path) -> None:
    from replay.seal import disk

    with disk.locked(campaign), pytest.raises(UsageError, match="another process"):
        publish_one(campaign, repository)


def test_several_campaigns_land_in_one_commit(campaign: Path, repository: Path, tmp_path: Path) -> None:
    other = generate(tmp_path / "other", Options(runs=4, raw_kib=4, seed=7, arms=("second",)))[0]
    make_publishable(other)
    graded(other)
    done = publish([campaign, other], options(repository))
    assert done.landed is not None
    assert git(repository, "rev-list", "--count", "eval-results") == "1"
    assert len(results.parse(f"{git(repository, 'show', 'eval-results:RESULTS.md')}\n".encode()).rows) == 2
    with pytest.raises(UsageError, match="given twice"):
        publish([campaign, campaign], options(repository))


def test_no_git_repository_is_wrong_usage(campaign: Path, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    with pytest.raises(UsageError, match="not a git repository"):
        publish_one(campaign, tmp_path / "plain")


def test_a_remote_that_cannot_be_reached_leaves_the_branch_as_it_was(campaign: Path, repository: Path) -> None:
    with pytest.raises(WorkError, match="nothing was published"):
        publish_one(campaign, repository, remote=str(repository / "nowhere"))
    assert git(repository, "for-each-ref", "refs/heads/eval-results") == ""


def test_publication_says_nothing_of_when_and_where(directory: Path) -> None:
    publication = json.loads((directory / "publication.json").read_text())
    assert set(publication) == {
        "campaign_id", "created", "agent", "model", "arm", "planned", "runs", "interrupted", "grades", "publishable",
        "not_publishable_because", "chain", "supersedes", "redaction", "schema_version",
    }  # fmt: skip


def test_results_that_were_edited_are_refused() -> None:
    data = results.render(results.Index())
    for at in range(0, len(data), 7):
        changed = bytearray(data)
        changed[at] ^= 1
        edited = bytes(changed)
        try:
            index = results.parse(edited)
        except LogError:
            continue
        # Without our table it is a text of somebody else's, and it is kept as one.
        assert index.rows == {}
        assert "SHA-256 of the lines above" not in index.preamble
