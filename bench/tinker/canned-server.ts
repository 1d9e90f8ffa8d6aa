import { createServer } from "node:http";
import { encodeSamples } from "../../extensions/tinker/client/wire/samples.ts";

/** A Tinker server that computes nothing: what a client costs beside it is the client's own. It prints its port. */
const tokens = Array.from({ length: 64 }, (_, i) => i + 1);
const sample = encodeSamples({ sequences: [{ tokens, logprobs: tokens.map(() => -1), stopReason: "length" }] });
let count = 0;

const server = createServer((request, response) => {
  const path = request.url?.replace("/api/v1/", "") ?? "";
  request.on("data", () => {});
  request.on("end", () => {
    const json = (body: unknown, status = 200) => {
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify(body));
    };
    switch (path) {
      case "get_server_capabilities":
        return json({ supported_models: [{ model_name: "tiny" }] });
      case "create_session":
        return json({ session_id: "s" });
      case "asample":
        return json({ request_id: String(++count) });
      case "retrieve_future":
        response.writeHead(200, { "content-type": "application/x-protobuf" });
        return response.end(sample);
      case "forward":
        return json({}, 404);
      default:
        return json({});
    }
  });
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  console.log(typeof address === "object" ? address?.port : "");
});
