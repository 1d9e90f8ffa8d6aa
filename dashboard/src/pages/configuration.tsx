import type { RunDetail } from "../api.ts";
import { Scroll } from "../parts/bits.tsx";
import { flattened } from "./runs.tsx";

export function ConfigurationPage({ run: { config, version, node, device, row } }: { readonly run: RunDetail }) {
  return (
    <Scroll label="Configuration" panel>
      <table>
        <tbody>
          {[["folder", row.folder], ["retrograde", version], ["Node", node], ["device", device ?? "–"], ...flattened(config)].map(
            ([path, value]) => (
              <tr key={path}>
                <th scope="row">
                  <code>{path}</code>
                </th>
                <td>
                  <code>{value}</code>
                </td>
              </tr>
            ),
          )}
        </tbody>
      </table>
    </Scroll>
  );
}
