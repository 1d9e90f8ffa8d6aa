import { expect, test } from "vitest";
import { doorSheets } from "../../src/core/door.ts";
import "./remote.ts";
import "./server/serve-environment.ts";

/** The documents of the wires, each with the fields that change nothing here, and those that have one value (`field=value`). */
const documents: Readonly<Record<string, string>> = {
  "a text of a row of NeMo Gym": "annotations logprobs",
  "a function call of a row of NeMo Gym": "id status",
  "a function call's output of a row of NeMo Gym": "id status",
  "reasoning of a row of NeMo Gym": "id status summary content encrypted_content",
  "a message of a row of NeMo Gym": 'id status type="message"',
  "a tool of a row of NeMo Gym": "strict",
  "responses_create_params of a row of NeMo Gym":
    'temperature top_p max_output_tokens parallel_tool_calls reasoning model metadata user store service_tier include background truncation stream top_logprobs tool_choice="auto"',
  "the start of an episode of NeMo Gym": "info",
  "a tool's output of NeMo Gym": "",
  "a step of NeMo Gym": "",
  "settings of NeMo Gym": "",
  "a server of MCP of NeMo Gym": "server_name",
  "a new session of NeMo Gym": "",
  "a split of a server": "type",
  "a split's size of a server": "",
  "a task of a server": "task",
  "an observation of OpenEnv": "metadata",
  "a message of OpenEnv with an observation": "",
  "a tool of OpenEnv": "",
  "the schemas of an OpenEnv server": "observation state reset_observation",
  "settings of OpenEnv": "",
  "a text of ORS": "detail",
  "an image of ORS": "detail",
  "reasoning of ORS": "detail signature",
  "a tool call of ORS": "detail",
  "a tool result of ORS": "detail is_error=false",
  "a message of ORS": "detail",
  "a tool's output of ORS": "",
  "a successful call of ORS": "",
  "a failed call of ORS": "reason",
  "a tool of ORS": "",
  "the last tool of ORS": "",
  "a list of tools of ORS": "supports_score_group message_block_types",
  "the version of an ORS server": "build_sha",
  "settings of ORS": "",
  "settings of verifiers": "",
  "a tool call of verifiers": "type namespace",
  "a message of verifiers": "provider_state",
  "a reward of verifiers": "",
  "what a trace of verifiers ends with":
    "agent tools mm_token_type_id_map info root_reply is_completed is_timeout timing num_input_tokens num_output_tokens num_total_tokens",
  "news of a trace of verifiers": "calls extra_usage request_rewrites response_rewrites links routing_repairs pending",
  "a reset sent to us in OpenEnv": "",
  "a step sent to us in OpenEnv": "",
  "a question of state sent to us in OpenEnv": "",
  "a message of MCP sent to us in OpenEnv": "",
  "an end sent to us in OpenEnv": "",
  "what a reset in OpenEnv asks of us": "",
  "a list of tools asked of us in OpenEnv": "metadata",
  "a call asked of us in OpenEnv": "metadata",
  "a request of MCP to us in OpenEnv": "",
  "a call of MCP to us in OpenEnv": "_meta session_id",
  "a split asked of us": "",
  "a task asked of us": "",
  "tasks asked of us": "",
  "a step by HTTP asked of us in OpenEnv": "timeout_s request_id",
  "a task sent to us in ORS": "id",
  "a session asked of us in ORS": "secrets={}",
  "a call asked of us in ORS": "",
  serveEnvironment: "",
};

test.each(Object.entries(documents))("%s may have, beside what is used of it: %s", (name, fields) => {
  const { ignores = [], neutral = {} } = doorSheets().find((sheet) => sheet.name === name) ?? {};
  const values = Object.entries(neutral).map(([field, value]) => `${field}=${JSON.stringify(value)}`);
  expect([...ignores, ...values].join(" ")).toBe(fields);
  expect(doorSheets().map((sheet) => sheet.name)).toContain(name);
});
