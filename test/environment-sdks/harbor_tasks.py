"""Task folders as Harbor's package makes them: `python harbor_tasks.py FOLDER`. Prints {"has": names of the folders that its models read}.
`plain` is its template for a verifier in the agent's environment, filled in; `separate` and `pytest` are templates as they are; `check` and `adapter`
lie in the package."""

import json
import shutil
import sys
from contextlib import redirect_stdout
from pathlib import Path

import harbor
from harbor.cli.init import _init_task
from harbor.models.task.config import VerifierEnvironmentMode
from harbor.models.task.task import Task

folder, package = Path(sys.argv[1]), Path(harbor.__file__).parent
shared = {"verifier_mode": VerifierEnvironmentMode.SHARED}
with redirect_stdout(sys.stderr):
    _init_task("retrograde/plain", folder, no_pytest=True, **shared)
    _init_task("retrograde/pytest", folder, **shared)
    _init_task("retrograde/separate", folder, no_pytest=True)
shutil.copytree(package / "analyze/check-task-template", folder / "check")
shutil.copytree(package / "cli/template-adapter/task-template", folder / "adapter")
plain = folder / "plain"
(plain / "instruction.md").write_text("Write the sum of the numbers in /app/numbers.txt to /app/sum.txt.\n")
(plain / "environment/Dockerfile").write_text((plain / "environment/Dockerfile").read_text() + "\nCOPY numbers.txt ./\n")
(plain / "environment/numbers.txt").write_text("3\n4\n5\n")
(plain / "solution/solve.sh").write_text("#!/bin/bash\nawk '{ sum += $1 } END { print sum }' /app/numbers.txt > /app/sum.txt\n")
with (plain / "tests/test.sh").open("a") as test:
    test.write('\nif [ "$(cat /app/sum.txt)" = 12 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n')
has = [task.name for task in sorted(folder.iterdir()) if task.name not in ("adapter", "check") and Task(task, disable_verification=False)]
print(json.dumps({"has": has}))
