"""Run every benchmark in turn, each in a process of its own, so that none warms another's caches."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> int:
    wanted = sys.argv[1:]
    worst = 0
    for script in sorted(HERE.glob("bench_*.py")):
        if wanted and not any(word in script.stem for word in wanted):
            continue
        print(f"\n── {script.stem} " + "─" * (70 - len(script.stem)), flush=True)
        worst |= subprocess.run([sys.executable, "-m", f"benchmarks.{script.stem}"], cwd=HERE.parent).returncode
    return worst


if __name__ == "__main__":
    sys.exit(main())
