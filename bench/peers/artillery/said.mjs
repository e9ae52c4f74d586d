// The line that the harness reads, from Artillery's own report.
import { readFileSync } from 'node:fs';

const { summaries, counters } = JSON.parse(readFileSync(process.argv[2])).aggregate;
const ages = summaries?.push_latency;
const late = counters?.push_late ?? 0;
console.log(JSON.stringify({ handled: ages?.count ?? 0, late, p50_ms: ages?.median, p99_ms: ages?.p99 }));
