// Validate documents of sigcontract with the published JSON Schemas, without Python.
//
//   npm ci && node validate.mjs SCHEMAS FILE...
//
// SCHEMAS is the folder that `sigcontract schema --write` fills. Exit 1 where a file is not what its schema says.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import Ajv2020 from "ajv/dist/2020.js";

const [folder, ...files] = process.argv.slice(2);
if (!folder || files.length === 0) {
  console.error("usage: node validate.mjs SCHEMAS FILE...");
  process.exit(2);
}

const ajv = new Ajv2020({ allErrors: true, discriminator: true });
const validators = new Map();
for (const name of readdirSync(folder)) {
  if (!name.endsWith(".schema.json")) continue;
  const schema = JSON.parse(readFileSync(join(folder, name), "utf8"));
  const { document, version } = schema.properties;
  validators.set(`${document.const} ${version.const}`, ajv.compile(schema));
}

let faulty = 0;
for (const file of files) {
  const document = JSON.parse(readFileSync(file, "utf8"));
  const kind = `${document.document} ${document.version}`;
  const validate = validators.get(kind);
  if (validate && validate(document)) {
    console.log(`${file}: valid ${kind}`);
    continue;
  }
  faulty += 1;
  console.log(`${file}: not valid`);
  for (const error of validate?.errors ?? [{ instancePath: "", message: `there is no schema for ${kind}` }]) {
    console.log(`  ${error.instancePath || "/"} ${error.message}`);
  }
}
process.exit(faulty ? 1 : 0);
