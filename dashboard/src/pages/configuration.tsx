import type { RunDetail } from "../api.ts";
import { flattened } from "./runs.tsx";

export function ConfigurationPage({ run: { config, version, node, device, row } }: { readonly run: RunDetail }) {
  return (
    <div class="scroll panel" tabIndex={0} role="region" aria-label="Configuration">
      <table>
        <tbody>
          {[["folder", row.folder], ["retrograde", version], ["Node", node], ["device", device ?? "–"], ...flattened(config)].map(([path, value]) => (
            <tr key={path}>
              <th scope="row">
                <code>{path}</code>
              </th>
              <td>
                <code>{value}</code>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
