import { callMethod } from "../../python/methods.ts";
import { add } from "../../python/numbers.ts";
import { contains, equal, getItem, iterate, setItem, truth } from "../../python/operators.ts";
import type { PythonRandom } from "../../python/random.ts";
import { str } from "../../python/text.ts";
import { Dict, PyError, PySet, type Value } from "../../python/values.ts";
import { configured, defineBackend, error, f, itemsOf } from "./backend.ts";
import { seededBy } from "./seed.ts";

interface MessageState {
  _random: PythonRandom;
  generated_ids: Value;
  user_count: Value;
  user_map: Value;
  inbox: Value;
  message_count: Value;
  current_user: Value;
}

const notLoggedIn = "No user is currently logged in.";

function values(dict: Value): readonly Value[] {
  return iterate(callMethod(dict, "values"));
}

/** The first entry of a message: its receiver and text. */
function firstEntry(message: Value): readonly [Value, Value] {
  const [first] = itemsOf(message);
  if (first === undefined) throw new PyError("IndexError", "list index out of range");
  return first;
}

function newId(state: MessageState): Dict {
  let id = state._random.randint(10000, 99999);
  while (contains(state.generated_ids, id)) id = state._random.randint(10000, 99999);
  callMethod(state.generated_ids, "add", id);
  return Dict.of({ new_id: id });
}

export const messageBackend = defineBackend<MessageState>(
  "MessageAPI",
  (config) => ({
    _random: seededBy(config, 200191n),
    generated_ids: configured(config, "generated_ids", new PySet()),
    user_count: configured(config, "user_count", 4n),
    user_map: configured(config, "user_map", Dict.of({ Alice: "USR001", Bob: "USR002", Catherine: "USR003", Daniel: "USR004" })),
    inbox: configured(config, "inbox", [
      Dict.of({ USR002: "My name is Alice. I want to connect." }),
      Dict.of({ USR003: "Could you upload the file?" }),
      Dict.of({ USR004: "Could you upload the file?" }),
    ]),
    message_count: configured(config, "message_count", 3n),
    current_user: configured(config, "current_user", null),
  }),
  {
    "list_users()": ({ user_map }) => Dict.of({ user_list: [...iterate(callMethod(user_map, "keys"))] }),
    "get_user_id(user)": ({ user_map }, user) =>
      contains(user_map, user)
        ? Dict.of({ user_id: callMethod(user_map, "get", user) })
        : error(f`User '${user}' not found in the workspace.`),
    "message_login(user_id)": (state, id) => {
      if (!contains([...values(state.user_map)], id))
        return Dict.of({ login_status: false, message: f`User ID '${id}' not found.` });
      state.current_user = id;
      return Dict.of({ login_status: true, message: f`User '${id}' logged in successfully.` });
    },
    "message_get_login_status()": ({ current_user }) => Dict.of({ login_status: truth(current_user) }),
    "send_message(receiver_id, message)": (state, receiver, message) => {
      if (!truth(state.current_user)) return error(notLoggedIn);
      if (!contains([...values(state.user_map)], receiver)) return error(f`Receiver ID '${receiver}' not found.`);
      const id = newId(state);
      callMethod(state.inbox, "append", Dict.from([[receiver, message]]));
      state.message_count = add(state.message_count, 1n, "+=");
      return Dict.of({ sent_status: true, message_id: id, message: f`Message sent to '${receiver}' successfully.` });
    },
    "delete_message(receiver_id)": (state, wanted) => {
      if (!truth(state.current_user)) return error(notLoggedIn);
      for (const message of [...iterate(state.inbox)].reverse()) {
        const [receiver] = firstEntry(message);
        if (!equal(receiver, wanted)) continue;
        callMethod(state.inbox, "remove", message);
        const text = f`Receiver ${wanted}'s latest message deleted successfully.`;
        return Dict.of({ deleted_status: true, receiver_id: receiver, message: text });
      }
      return error(f`Receiver ID ${wanted} not found.`);
    },
    "view_messages_sent()": (state) => {
      if (!truth(state.current_user)) return error(notLoggedIn);
      const sent = new Dict();
      for (const message of iterate(state.inbox)) {
        const [receiver, text] = firstEntry(message);
        if (sent.has(receiver)) callMethod(getItem(sent, receiver), "append", text);
        else sent.set(receiver, [text]);
      }
      return Dict.of({ messages: sent });
    },
    "add_contact(user_name)": (state, name) => {
      if (contains(state.user_map, name)) return error(f`User name '${name}' already exists.`);
      state.user_count = add(state.user_count, 1n, "+=");
      const id = `USR${str(callMethod(str(state.user_count), "zfill", 3n))}`;
      if (contains([...values(state.user_map)], id)) return error(`User ID '${id}' already exists.`);
      setItem(state.user_map, name, id);
      return Dict.of({ added_status: true, user_id: id, message: f`Contact '${name}' added successfully.` });
    },
    "search_messages(keyword)": (state, keyword) => {
      if (!truth(state.current_user)) return error(notLoggedIn);
      const wanted = callMethod(keyword, "lower");
      const results: Value[] = [];
      for (const message of iterate(state.inbox)) {
        const [receiver, text] = firstEntry(message);
        if (contains(callMethod(text, "lower"), wanted)) results.push(Dict.of({ receiver_id: receiver, message: text }));
      }
      return Dict.of({ results });
    },
    "get_message_stats()": (state) => {
      if (!truth(state.current_user)) return error(notLoggedIn);
      const messages = iterate(state.inbox);
      const contacts = new PySet(messages.map((message) => firstEntry(message)[0]));
      const stats = Dict.of({ received_count: BigInt(messages.length), total_contacts: BigInt(contacts.size) });
      return Dict.of({ stats });
    },
  },
);
