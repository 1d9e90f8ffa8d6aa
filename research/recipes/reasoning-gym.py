"""
Tasks of the package `reasoning-gym` as JSON Lines, one for each line's seed:

    python reasoning-gym.py needle_haystack < SEEDS > TASKS.jsonl

A task's guesses are the answers of a player who knows the form alone. `answers` are the texts that the package's scorer takes for right among
them and its own answer.
"""

import contextlib
import itertools
import json
import random
import re
import sys
import warnings
from collections import Counter

import reasoning_gym

warnings.filterwarnings("ignore")
out, sys.stdout = sys.stdout, sys.stderr  # some families print

# Fewer and shorter parts. Families that are not listed have no size to change, or their text alone is long.
easier = {
    "ab": {"length": 3},
    "advanced_geometry": {"min_coord": 0, "max_coord": 4},
    "aiw": {"max_entities": 3},
    "arc_1d": {"min_size": 8, "max_size": 8, "num_train": 2},
    "base_conversion": {"min_base": 2, "max_base": 3, "max_value": 7},
    "basic_arithmetic": {"max_terms": 2, "max_digits": 1},
    "binary_alternation": {"min_n": 3, "max_n": 5},
    "binary_matrix": {"min_n": 2, "max_n": 2},
    "bitwise_arithmetic": {"difficulty": 1},
    "caesar_cipher": {"min_words": 1, "max_words": 1, "max_rotation": 1},
    "chain_sum": {"max_terms": 2, "max_digits": 1},
    "circuit_logic": {"min_terms": 1, "max_terms": 1, "max_inputs": 2},
    "coin_flip": {"min_trials": 2, "max_trials": 3},
    "color_cube_rotation": {"max_rotations": 1},
    "complex_arithmetic": {"min_real": 0, "max_real": 3, "min_imag": 0, "max_imag": 3, "operations": ["+"], "operations_weights": [1]},
    "count_bits": {"max_n": 15},
    "count_primes": {"max_n": 20},
    "countdown": {"min_numbers": 2, "max_numbers": 2, "max_value": 20, "min_target": 2, "max_target": 40, "operators": ["+", "-"]},
    "course_schedule": {"min_num_courses": 3, "max_num_courses": 3, "max_num_prerequisites": 1, "min_cycle_length": 3, "max_cycle_length": 3},
    "decimal_arithmetic": {"min_num_decimal_places": 1, "max_num_decimal_places": 1, "max_terms": 2},
    "decimal_chain_sum": {"max_terms": 2, "max_digits": 1, "max_decimal_places": 1},
    "dice": {"num_dice": 1, "max_dice_size": 6},
    "emoji_mystery": {"max_words_in_sentence": 3},
    "family_relationships": {"max_family_size": 4},
    "figlet_font": {"static_font": "mini", "max_word_len": 3},
    "fraction_simplification": {"max_value": 5, "max_factor": 4, "styles": ["plain"]},
    "futoshiki": {"max_board_size": 4, "max_difficulty": 0},
    "game_of_life": {"grid_size_x": 4, "grid_size_y": 4},
    "gcd": {"max_value": 20},
    "graph_color": {"min_num_vertices": 3, "max_num_vertices": 3},
    "group_anagrams": {"max_anagram_groups": 2, "max_words_per_group": 2},
    "isomorphic_strings": {"max_string_length": 3},
    "jugs": {"num_jugs": 3, "difficulty": 1},
    "kakurasu": {"min_rows": 3, "max_rows": 3, "min_cols": 3, "max_cols": 3},
    "largest_island": {"max_rows": 5, "max_cols": 5},
    "lcm": {"max_value": 10},
    "leg_counting": {"min_animals": 1, "max_animals": 1, "max_instances": 5},
    "letter_counting": {"min_words": 2, "max_words": 3},
    "letter_jumble": {"max_word_len": 4, "max_words": 3},
    "manipulate_matrix": {"max_rows": 2, "max_cols": 2, "max_transforms": 1},
    "maze": {"min_dist": 2, "max_dist": 4, "max_grid_size": 5},
    "mini_sudoku": {"min_empty": 1, "max_empty": 2},
    "modulo_grid": {"size_x": 6, "size_y": 6, "max_divisor": 3, "max_target": 3},
    "n_queens": {"n": 4, "max_remove": 1},
    "needle_haystack": {"min_num_statements": 3, "max_num_statements": 5},
    "number_filtering": {"max_numbers": 3, "max_decimals": 0},
    "number_format": {"max_num_candidates": 2, "max_n": 100000},
    "number_sequence": {"max_terms": 5, "min_value": 1, "max_value": 9, "max_complexity": 1},
    "number_sorting": {"max_numbers": 3, "max_decimals": 0},
    "palindrome_generation": {"max_length": 4},
    "palindrome_partitioning": {"max_string_len": 5},
    "path_star": {"degree": 2, "node_range": 20, "max_path_length": 3},
    "polynomial_equations": {"max_terms": 2, "max_value": 10, "max_degree": 1},
    "polynomial_multiplication": {"max_terms": 2, "max_value": 5, "max_degree": 1, "max_polynomials": 2},
    "pool_matrix": {"max_rows": 2, "max_cols": 2, "max_pool_size": 2},
    "power_function": {"min_base": 1, "max_base": 5, "max_exponent": 2},
    "prime_factorization": {"max_value": 20},
    "products": {"max_digits": 1},
    "propositional_logic": {"max_vars": 2, "max_statements": 2, "max_complexity": 1},
    "quantum_lock": {"difficulty": 1},
    "ransom_note": {"max_note_length": 2, "max_magazine_length": 5},
    "rearc": {"min_examples": 1, "max_examples": 1},
    "rectangle_count": {"max_rectangles": 2, "width": 12, "height": 10},
    "rotate_matrix": {"max_n": 2},
    "rotten_oranges": {"min_n": 3, "max_n": 3},
    "rubiks_cube": {"min_scramble_steps": 1, "max_scramble_steps": 1, "cube_size": 2},
    "rush_hour": {"max_moves": 3},
    "self_reference": {"difficulty": 1},
    "sentence_reordering": {"max_words_in_sentence": 4},
    "shortest_path": {"min_rows": 2, "max_rows": 3, "min_cols": 2, "max_cols": 3, "p_blocked": 0.2},
    "simple_equations": {"max_terms": 2, "max_value": 9, "operators": ["+"], "operators_weights": [1]},
    "simple_geometry": {"max_sides": 3},
    "simple_integration": {"max_terms": 2, "max_degree": 2, "max_bounds": 3},
    "sokoban": {"max_w": 6, "max_h": 6, "min_boxes": 1, "max_boxes": 1, "max_depth": 5},
    "spell_backward": {"max_word_len": 3},
    "spiral_matrix": {"max_n": 2},
    "string_insertion": {"max_string_length": 5},
    "string_manipulation": {"max_string_length": 5, "max_num_rules": 3},
    "string_splitting": {"max_initial_machines": 1},
    "string_synthesis": {"max_initial_blocks": 1},
    "sudoku": {"min_empty": 1, "max_empty": 2},
    "survo": {"max_board_size": 4, "min_empty": 1, "max_empty": 1},
    "syllogism": {"allow_some": False, "allow_some_not": False, "inversion_probability": 0},
    "time_intervals": {"task_types": ["date"], "max_date_difference_days": 9},
    "tower_of_hanoi": {"max_disks": 3, "max_pegs": 3},
    "tsumego": {"max_board_size": 9, "max_stones": 5},
    "word_sequence_reversal": {"max_words": 3},
    "word_sorting": {"max_words": 3, "max_word_length": 5},
    "zebra_puzzles": {"num_people": 2, "num_characteristics": 2},
}


def task_of(family, config, seed):
    """The task that the package makes of a seed, with the family's scorer."""
    dataset = reasoning_gym.create_dataset(family, size=1, seed=seed, **config)
    return dataset[0], dataset


def scored(dataset, entry, text):
    """The package's score; None where its scorer ends by an error."""
    try:
        return float(dataset.score_answer(text.strip(), entry))
    except Exception:
        return None


def shape(text):
    return re.sub(r"[a-z]+", "a", re.sub(r"[A-Z]+", "A", re.sub(r"\d+", "9", text)))


def words(text):
    return [word.strip(".,:;?!()[]{}\"'`") for word in text.split()]


def openers(question):
    """The first word of each sentence of the first line."""
    return [sentence.split(" ")[0] for sentence in map(str.strip, question.split("\n")[0].split(". ")) if sentence]


def reordered(answer, rng):
    """The parts of an answer in other orders."""
    body = answer[1:-1] if answer.startswith("[") else answer
    parts = re.split(r"(, |\s+)", body)
    orders = set()
    for _ in range(16):
        items = parts[::2]
        rng.shuffle(items)
        parts[::2] = items
        orders.add(answer.replace(body, "".join(parts)))
    return sorted(orders)


def assigned(entry):
    """Each person with each of the two kinds: what knights_knaves asks for."""
    names, kinds = entry["metadata"]["names"], entry["metadata"]["knight_knave_terms"]
    people = [[f"{name} is {kinds['a_knight']}", f"{name} is {kinds['a_knave']}"] for name in names]
    return [", and ".join(each) for each in itertools.product(*people)]


def subsets(entry):
    """Parts of the printed list, in its order: what number_filtering asks for."""
    numbers = re.findall(r"'[^']*'", entry["question"])
    chosen = [[n for n, is_in in zip(numbers, mask) if is_in] for mask in itertools.product([0, 1], repeat=min(len(numbers), 4))]
    return [f"[{', '.join(each)}]" for each in chosen]


own_guesses = {
    "knights_knaves": assigned,
    "number_filtering": subsets,
    "number_format": lambda entry: entry["question"].split("candidates: ")[1].split(),
    "color_cube_rotation": lambda entry: re.findall(r"- an? (\w+) ", entry["question"]),
}


# Whose guesses show the form: the first that a family has.
readers = ["an answer that the prompt allows", "a sentence's first word", "its parts in any order", "a word of the prompt"]


def form_of(family, found, entries):
    few = len({str(e["answer"]) for e in entries}) <= 8  # such as True and False
    if (few and family not in own_guesses) or in_prompt(family, entries) < 0.9:
        return "another task's answer"
    return next(name for name in readers if name in found and (name != readers[1] or family == "needle_haystack"))


def in_prompt(family, entries):
    """The share of tasks all of whose answer's words are the prompt's."""
    if family in own_guesses:
        return 1
    return sum(set(words(str(e["answer"]))) <= set(words(e["question"])) for e in entries) / len(entries)


def players(family, entries, known):
    """For each player who reads no meaning, the answers among which it draws, a list for each task. `known` are answers of other tasks."""
    rng = random.Random(0)
    usual = Counter(map(shape, known)).most_common(1)[0][0]
    questions, answers = [e["question"] for e in entries], [str(e["answer"]) for e in entries]
    found = {
        "another task's answer": [rng.sample(known, min(16, len(known))) for _ in entries],
        "a word of the prompt": [[w for w in words(q) if shape(w) == usual] for q in questions],
        "a sentence's first word": [openers(q) for q in questions],
    }
    if all(" " in a.strip() and set(words(a)) <= set(words(q)) for q, a in zip(questions, answers)):
        found["its parts in any order"] = [reordered(a, rng) for a in answers]
    if family in own_guesses:
        found["an answer that the prompt allows"] = [own_guesses[family](e) for e in entries]
    return found


def write(value):
    out.write(json.dumps(value) + "\n")
    out.flush()


def tasks(family):
    """Lines of a seed in, lines of tasks out."""
    made = [task_of(family, easier.get(family, {}), int(line)) for line in sys.stdin]
    entries = [entry for entry, _ in made]
    known = [str(task_of(family, easier.get(family, {}), seed)[0]["answer"]) for seed in range(64)]
    found = players(family, entries, known)
    guesses = found[form_of(family, found, entries)]
    for (entry, dataset), texts in zip(made, guesses):
        answer = str(entry["answer"])
        right = [text for text in dict.fromkeys([answer, *texts]) if (scored(dataset, entry, text) or 0) >= 1]
        write({"prompt": entry["question"], "answers": right, "guesses": texts})


with contextlib.redirect_stdout(sys.stderr):
    tasks(*sys.argv[1:])
