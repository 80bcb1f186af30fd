"""Tests `recalld.read` with a real daemon, and runs the example notebook."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Daemon

from recalld import Client, RecalldError, context, read

EXAMPLES = Path(os.environ.get("RECALLD_EXAMPLES", ROOT / "examples"))


@pytest.fixture
def run(daemon: Daemon, pipeline: str, tmp_path: Path) -> Any:
    """A golden run with two queries, one of which finds its document."""
    golden = tmp_path / "golden.jsonl"
    golden.write_text(
        '{"text": "How do I pay?", "relevant": ["kb-2"]}\n{"text": "How do I cancel?", "relevant": ["kb-9"]}\n', "utf-8"
    )
    daemon.run("golden", "import", str(golden), "--set", pipeline)
    return daemon.run("golden", "run", "--pipeline", pipeline, "--set", pipeline, "--wait")


def test_runs_queries_and_measures_become_data_frames(daemon: Daemon, pipeline: str, run: Any) -> None:
    runs = read("golden-runs", url=daemon.url, pipeline=pipeline).to_pandas()
    assert list(runs.run_id) == [run["run_id"]]
    assert str(runs.started_at.dtype).startswith("datetime64[") and "UTC" in str(runs.started_at.dtype)
    assert runs["metrics.hit_rate@10.mean"][0] == run["metrics"]["hit_rate@10"]["mean"] == 0.5

    queries = read(f"golden-runs/{run['run_id']}/queries", url=daemon.url, order_by="hit_rate@10").to_pandas()
    assert list(queries.text) == ["How do I cancel?", "How do I pay?"]
    assert list(queries["metrics.hit_rate@10"]) == [0, 1]

    judged = read(f"golden-sets/{pipeline}", url=daemon.url, rows="queries")
    assert {one["text"] for one in judged} == {"How do I pay?", "How do I cancel?"}
    density = read("density", url=daemon.url, pipeline=pipeline)
    assert density[0]["phase"] in ("unwatched", "learning")
    series = read("density", url=daemon.url, pipeline=pipeline, rows="measures.query_density.series")
    assert series == [] and series.to_pandas().empty


def test_read_fetches_all_pages(daemon: Daemon, pipeline: str, tmp_path: Path) -> None:
    golden = tmp_path / "golden.jsonl"
    golden.write_text("".join(f'{{"text": "query {n}", "relevant": ["kb-{n}"]}}\n' for n in range(130)), "utf-8")
    daemon.run("golden", "import", str(golden), "--set", f"{pipeline}-pages")
    rows = read(f"golden-sets/{pipeline}-pages", url=daemon.url, rows="queries")
    assert len({one["text"] for one in rows}) == len(rows) == 130


def test_read_raises_an_error_with_the_code_of_recalld_for_an_unknown_name(daemon: Daemon) -> None:
    with pytest.raises(RecalldError) as raised:
        read("golden-sets/none", url=daemon.url)
    assert raised.value.status == 404
    with pytest.raises(RecalldError) as raised:
        read("checks", url=daemon.url, colour="red")
    assert raised.value.status == 400


def test_the_retrievals_of_a_turn_form_an_episode(daemon: Daemon, pipeline: str) -> None:
    with Client(daemon.url, pipeline=pipeline) as client:
        with context(episode={"id": "turn-1", "original_text": "It broke, and I want my money back."}):
            client.track(text="repair", results=["kb-1"])
        client.track(text="refund", results=["kb-2"], episode={"id": "turn-1", "step": 2})
        client.track(text="other", results=["kb-3"])
    rows = {row["text"]: row for row in daemon.exported("queries", pipeline)}
    assert rows["repair"]["episode"] == rows["refund"]["episode"] is not None
    assert (rows["refund"]["episode_step"], rows["other"]["episode"]) == (2, None)


def test_the_example_notebook_runs_completely(
    daemon: Daemon, pipeline: str, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import nbclient
    import nbformat

    monkeypatch.setenv("RECALLD_URL", daemon.url)
    notebook = nbformat.read(EXAMPLES / "read_results.ipynb", as_version=4)  # type: ignore[no-untyped-call]
    for cell in notebook.cells:
        cell.source = cell.source.replace("pipelines.pipeline[0]", repr(pipeline))
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert [output.output_type for output in shown] == ["execute_result"] * 5
    assert "How do I cancel?" in str(shown[3].data)
