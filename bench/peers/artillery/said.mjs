// The line that the harness reads, from Artillery's own report.
import { readFileSync } from 'node:fs';

const ages = JSON.parse(readFileSync(process.argv[2])).aggregate.summaries?.push_latency;
console.log(JSON.stringify({ handled: ages?.count ?? 0, p50_ms: ages?.median, p99_ms: ages?.p99 }));
