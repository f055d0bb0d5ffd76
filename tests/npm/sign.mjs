// Prints every payload example of @octokit/webhooks-examples, signed by @octokit/webhooks-methods
// with the secret in argv[2]: one JSON object per line, {event, body (base64), signature}.
import { readFileSync } from "node:fs";

const modules = `${process.cwd()}/target/npm/node_modules/@octokit`;
// The package exports only an ES module, and it is not installed beside this file.
const { sign } = await import(`${modules}/webhooks-methods/dist-node/index.js`);

for (const server of ["api.github.com", "ghes-35"]) {
  const events = JSON.parse(readFileSync(`${modules}/webhooks-examples/${server}/index.json`, "utf8"));
  for (const { name, examples } of events) {
    for (const example of examples) {
      const body = JSON.stringify(example);
      const signature = await sign(process.argv[2], body);
      console.log(JSON.stringify({ event: name, body: Buffer.from(body).toString("base64"), signature }));
    }
  }
}
