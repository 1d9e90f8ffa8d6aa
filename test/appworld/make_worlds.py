"""Makes a data folder of synthetic tasks for the real AppWorld server. Usage: python make_worlds.py ROOT

Nothing of AppWorld's own data is used: the apps start empty, one person owns notes in one of them, and every scenario asks for their number, or
for a new one. Needs the package `appworld` after `appworld install`.
"""

import json
import os
import shutil
import sys
from datetime import datetime

root = os.path.abspath(sys.argv[1])
os.environ["APPWORLD_ROOT"] = root
data = os.path.join(root, "data")
shutil.rmtree(data, ignore_errors=True)
os.makedirs(os.path.join(data, "datasets"))

from appworld.apps import get_all_apps  # noqa: E402
from appworld.apps.api_lib import set_local_date_and_time, set_local_dbs  # noqa: E402
from appworld.collections.api_docs import ApiDocCollection  # noqa: E402
from appworld.collections.models import ModelCollection  # noqa: E402
from appworld.common.path_store import path_store  # noqa: E402

path_store.update_root(root)
now = datetime(2023, 5, 18, 12, 0, 0)
person = {
    "first_name": "Ada",
    "last_name": "Test",
    "email": "ada.test@example.com",
    "phone_number": "5550100200",
    "birthday": "1990-01-01",
}
password = "harbour-lamp"


def write(path, value):
    path = os.path.join(data, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(value if isinstance(value, str) else json.dumps(value))


docs = ApiDocCollection.build(load_apps=tuple(get_all_apps(skip_admin=True)))
for app, apis in docs.items():
    write(f"api_docs/standard/{app}.json", {name: {**doc, "canary_string": ""} for name, doc in apis.items()})

freezer = set_local_date_and_time(now)
apps = get_all_apps()
base = os.path.join(data, "base_dbs")
set_local_dbs(to_db_home_path=":memory:making", from_db_home_path=":memory:making", app_names=apps, create=True)
models = ModelCollection.load(to_db_home_path=":memory:making", from_db_home_path=":memory:making", load_apps=apps, create_db=True)


def add(model, **values):
    record = model(**values)
    record.save()
    return record


main = add(models.admin.MainUser, **person)
supervisor = add(models.supervisor.Supervisor, **person)
add(models.admin.AccountPassword, main_user_id=main.id, account_name="simple_note", password=password)
add(models.supervisor.AccountPassword, supervisor_id=supervisor.id, account_name="simple_note", password=password)
user = add(
    models.simple_note.User,
    first_name="Ada",
    last_name="Test",
    email=person["email"],
    password=password,
    verified=True,
)
for i in range(3):
    add(models.simple_note.Note, user_id=user.id, title=f"Note {i + 1}", content=f"Number {i + 1}.")
for app, apis in docs.items():
    for name, doc in apis.items():
        fields = {key: doc[key] for key in ("path", "method", "description", "parameters", "response_schemas")}
        add(models.api_docs.ApiDoc, app_name_=app, api_name=name, **fields)
models.save(base, format="full", app_names=apps, delete_if_exists=True)

COUNT = """
def evaluate(test, public_data, private_data, main_user, models, ground_truth_answer):
    given = json.loads(models.end.supervisor.Task.all()[0].answer)
    notes = len(models.end.simple_note.Note.all())
    with test("assert answers match."):
        test.answer(given, ground_truth_answer)
    with test("assert no notes were changed."):
        test.case(notes, "==", 3)
"""
CREATE = """
def evaluate(test, public_data, private_data, main_user, models, ground_truth_answer):
    titles = [note.title for note in models.end.simple_note.Note.all()]
    with test("assert the note is there."):
        test.case(public_data["title"], "in", titles)
    with test("assert at most one note was added."):
        test.case(len(titles), "<=", 4)
"""
SIZES = {"num_apps": 1, "num_apis": 2, "num_api_calls": 2, "num_solution_code_lines": 3}
LABELS = {
    COUNT: ["assert answers match.", "assert no notes were changed."],
    CREATE: ["assert the note is there.", "assert at most one note was added."],
}


def task(task_id, instruction, difficulty, answer, public, program):
    write(
        f"tasks/{task_id}/specs.json",
        {
            "instruction": instruction,
            "supervisor": {key: person[key] for key in ("first_name", "last_name", "email", "phone_number")},
            "datetime": now.isoformat(),
            "db_version": "0.1.0",
            "canary_string": "",
        },
    )
    truth = f"tasks/{task_id}/ground_truth"
    write(f"{truth}/metadata.json", {"difficulty": difficulty, "mode": "minimal", **SIZES})
    write(f"{truth}/answer.json", json.dumps(answer))
    write(f"{truth}/public_data.json", public)
    write(f"{truth}/private_data.json", {})
    labels = zip(LABELS[program], ["no_op_fail", "no_op_pass"])
    write(f"{truth}/test_data.json", [{"requirement": name, "label": label} for name, label in labels])
    write(f"{truth}/evaluation.py", f"import json\n{program}")
    loaded = ModelCollection.load(from_db_home_path=base, to_db_home_path=f":memory:{task_id}", load_apps=apps)
    loaded.start_db_tracker()
    loaded.supervisor.Task(supervisor_id=supervisor.id, instruction=instruction).save()
    loaded.save(
        os.path.join(data, "tasks", task_id, "dbs"), format="changes", app_names=apps, save_model_hashes=True, delete_if_exists=True
    )
    loaded.stop_db_tracker()


splits = {"train": [], "dev": []}
for variant in (1, 2, 3):
    for split, scenario in (("train", "aaa1111"), ("dev", "ccc3333")):
        task(f"{scenario}_{variant}", "How many notes do I have in Simple Note?", 1, 3, {}, COUNT)
        splits[split].append(f"{scenario}_{variant}")
    title = f"Shopping {variant}"
    for split, scenario in (("train", "bbb2222"), ("dev", "ddd4444")):
        instruction = f'Create a note titled "{title}" in Simple Note.'
        task(f"{scenario}_{variant}", instruction, 2, None, {"title": title}, CREATE)
        splits[split].append(f"{scenario}_{variant}")
for split, ids in splits.items():
    write(f"datasets/{split}.txt", "".join(f"{task_id}\n" for task_id in sorted(ids)))
print(json.dumps({"root": root, "splits": splits}))
