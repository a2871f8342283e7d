"""TabArena's own tables and splits, beside its published results: ``python official.py OUT [lite]``, on a network."""

import sys
from pathlib import Path

from tabarena.benchmark.experiment import TabArenaV0pt1ExperimentBundle
from tabarena.contexts import TabArenaContext

from committee_tabarena.search_spaces import gen_boosting, gen_committee, gen_committee_once, gen_sbpmt

MODELS = [(gen_committee, 0), (gen_committee_once, 0), (gen_boosting, "all"), (gen_sbpmt, "all")]


def main(out: Path, subset: str | None) -> None:
    """Run, register the results beside TabArena's, and compare."""
    experiments = TabArenaV0pt1ExperimentBundle(models=MODELS).build_experiments(time_limit=3600)
    context = TabArenaContext()
    context.build_and_run_jobs(experiments, expname=out / "runs", subset=subset)
    leaderboard = context.compare(output_dir=out / "evaluation", subset=subset)
    print(context.leaderboard_to_website_format(leaderboard=leaderboard).to_markdown(index=False))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None)
