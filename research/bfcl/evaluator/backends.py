"""BFCL's own classes (PyPI package bfcl-eval), and their attributes as JSON: of the package only what its multi-turn part needs is imported."""

import ast
import builtins
import importlib
import importlib.util
import inspect
import json
import math
import sys
import types

CLASSES = ["GorillaFileSystem", "MathAPI", "MessageAPI", "TwitterAPI", "TicketAPI", "TradingBot", "TravelAPI", "VehicleControlAPI"]


class Absent(types.ModuleType):
    """A dependency of the package's other parts."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *a, **k: (lambda f: f)


def package():
    spec = importlib.util.find_spec("bfcl_eval")
    if spec is None:
        sys.exit("no package bfcl_eval")
    made = types.ModuleType("bfcl_eval")
    made.__path__ = list(spec.submodule_search_locations)
    sys.modules["bfcl_eval"] = made
    for name in ["java_parser", "js_parser", "json_parser", "xml_parser"]:
        sys.modules[f"bfcl_eval.model_handler.parser.{name}"] = Absent(name)
    for name in ["tenacity", "bfcl_eval.utils", "bfcl_eval.constants.type_mappings"]:
        sys.modules[name] = Absent(name)


package()
utils = importlib.import_module("bfcl_eval.eval_checker.multi_turn_eval.multi_turn_utils")
formats = importlib.import_module("bfcl_eval.model_handler.utils")
files = importlib.import_module(utils.CLASS_FILE_PATH_MAPPING["GorillaFileSystem"])
for each in CLASSES:
    importlib.import_module(utils.CLASS_FILE_PATH_MAPPING[each])


class StateError(Exception):
    pass


class Session:
    """The instances of one task, under the names that the official harness gives them: a model can see these in its results."""

    def __init__(self, record, model_name):
        self.id, self.name = record.get("task_id") or record["id"], model_name
        self.classes, self.config = record["involved_classes"], record.get("initial_config", {})
        said = record.get("long_context")
        self.long_context = "long_context" in self.id.rsplit("_", 1)[0] if said is None else said
        try:
            _, self.instances = self.official([])
        except Exception as error:
            raise StateError(str(error))

    def official(self, calls):
        return utils.execute_multi_turn_func_call(calls, self.config, self.classes, self.name, self.id, self.long_context)

    def execute(self, calls):
        """The official results, of calls that are trusted."""
        return self.official(calls)[0]

    def execute_checked(self, calls):
        """The same for a model's calls: each is official if it is one that `refusal` lets pass."""
        return [f"Error during execution: {why}" if (why := self.refusal(call)) else self.execute([call])[0] for call in calls]

    def refusal(self, call):
        """Why a call is not evaluated. None for what is made of literals, operators, everyday builtins and the tools alone."""
        methods = {
            name: found
            for found, instance in ((self.instance_name(owner), instance) for owner, instance in self.instances.items())
            for name, _ in inspect.getmembers(instance, inspect.ismethod)
            if not name.startswith("_")
        }
        text = utils._process_method_calls(call, methods)
        try:
            tree = ast.parse(text.lstrip(" \t"), mode="eval")
        except (RecursionError, MemoryError):
            return "the expression is nested too deeply"
        except Exception:
            return None  # whoever evaluates it says the same
        tools = {
            id(node.func)
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and methods.get(node.func.attr) == node.func.value.id
        }
        plain = {
            id(node.func)
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in PLAIN_METHODS
        }
        owners = {id(node.value) for node in ast.walk(tree) if id(node) in tools}
        for node in ast.walk(tree):
            if not isinstance(node, ALLOWED) and id(node) not in tools | plain:
                return f"{type(node).__name__} is not allowed in a call"
            if isinstance(node, ast.Call) and id(node.func) not in tools | plain and not isinstance(node.func, ast.Name):
                return "only functions are called"
            if isinstance(node, ast.Name) and id(node) not in owners and node.id not in EVERYDAY:
                if node.id in vars(utils) or hasattr(builtins, node.id):
                    return f"{node.id} is not allowed in a call"
        return None

    def instance_name(self, owner):
        return utils.re.sub(r"[-./:]", "_", f"{self.name}_{self.id}_{owner}_instance")

    def state(self):
        """The attributes that the verdict compares."""
        return {
            name: {key: encode(value) for key, value in vars(instance).items() if not key.startswith("_")}
            for name, instance in self.instances.items()
        }


EVERYDAY = {
    *["abs", "all", "any", "bool", "dict", "divmod", "enumerate", "float", "int", "len", "list", "max", "min", "print", "range", "repr"],
    *["reversed", "round", "set", "sorted", "str", "sum", "tuple", "zip"],
}
# Of texts, lists and dicts: there are no other objects that an expression can reach. `format` is not among them, which reads attributes.
PLAIN_METHODS = {
    *["count", "endswith", "find", "get", "index", "items", "join", "keys", "lower", "lstrip", "replace", "rstrip", "split"],
    *["splitlines", "startswith", "strip", "title", "upper", "values", "zfill"],
}
ALLOWED = (
    *[ast.Expression, ast.Call, ast.keyword, ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Load, ast.Store, ast.Name],
    *[ast.Subscript, ast.Slice, ast.Starred, ast.UnaryOp, ast.unaryop, ast.BinOp, ast.operator, ast.BoolOp, ast.boolop, ast.Compare],
    *[ast.cmpop, ast.IfExp, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.comprehension, ast.JoinedStr, ast.FormattedValue],
)


def encode(value):
    """JSON, with objects that mark what it does not have."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"__float__": repr(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, list):
        return [encode(item) for item in value]
    if isinstance(value, tuple):
        return {"__tuple__": [encode(item) for item in value]}
    if isinstance(value, (set, frozenset)):
        try:
            return {"__set__": [encode(item) for item in sorted(value)]}
        except TypeError:
            return {"__set__": [encode(item) for item in sorted(value, key=repr)]}
    if isinstance(value, dict):
        if all(isinstance(key, str) and not key.startswith("__") for key in value):
            return {key: encode(item) for key, item in value.items()}
        return {"__pydict__": [[encode(key), encode(item)] for key, item in value.items()]}
    if isinstance(value, files.Directory):
        return {"__dir__": value.name, "contents": encode(value.contents)}
    if isinstance(value, files.File):
        return {"__file__": value.name, "content": encode(value.content)}
    return {"__ellipsis__": True} if value is ... else {"__repr__": repr(value)}


class Shown:
    """An object of which only its text is known."""

    def __init__(self, text):
        self.text = text

    def __eq__(self, other):
        return self.text == repr(other)

    __hash__ = None


def decode(value):
    """What `encode` made JSON of."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "__float__" in value:
        return float(value["__float__"])
    if "__tuple__" in value:
        return tuple(decode(item) for item in value["__tuple__"])
    if "__set__" in value:
        return {decode(item) for item in value["__set__"]}
    if "__pydict__" in value:
        return {decode(key): decode(item) for key, item in value["__pydict__"]}
    if "__dir__" in value:
        made = files.Directory(value["__dir__"], None)
        made.contents = decode(value["contents"])
        return made
    if "__file__" in value:
        return files.File(value["__file__"], decode(value["content"]))
    if "__ellipsis__" in value:
        return ...
    return Shown(value["__repr__"]) if "__repr__" in value else {key: decode(item) for key, item in value.items()}


def read_call(text, parameters):
    """Name and arguments by their names of `name(1, key=2)` with literals. Raises an error for anything else."""
    node = ast.parse(text, mode="eval").body
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ValueError(f"{text} is no call of a function by its name")
    names = parameters.get(node.func.id, [])
    values = {names[i]: ast.literal_eval(value) for i, value in enumerate(node.args)}
    return node.func.id, {**values, **{each.arg: ast.literal_eval(each.value) for each in node.keywords}}
