-- The index of kept runs: tables made from the run folders, and views on them. It can be rebuilt
-- from the folders at any time. Times are µs, sizes bytes; null is not measured.

-- A row a run.
CREATE TABLE runs (
  id TEXT PRIMARY KEY,           -- the name of its folder
  name TEXT NOT NULL,            -- the scenario's
  started_at TEXT NOT NULL,      -- RFC 3339, UTC
  folder TEXT NOT NULL,          -- below the folder of the index, or where -o put it
  verdict TEXT NOT NULL,         -- valid, suspect, incomplete, invalid
  seed INTEGER NOT NULL,
  pushmark_version TEXT NOT NULL,
  kernel TEXT NOT NULL,
  cpu TEXT NOT NULL,
  cpus INTEGER NOT NULL,
  same_host INTEGER NOT NULL,    -- target and generator shared it
  server TEXT,                   -- the reference server; null for a target of the user's own
  suite TEXT,                    -- null outside a suite, as are the next two
  case_id TEXT,
  repeat INTEGER);               -- which fresh start of the case, from 1

-- A row an arm: what is asked for most.
CREATE TABLE arms (
  run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
  transport TEXT NOT NULL, target TEXT NOT NULL,
  outcome TEXT NOT NULL,         -- held, degraded, died
  verdict TEXT NOT NULL,
  error TEXT,                    -- what ended it early
  asked INTEGER NOT NULL, opened INTEGER NOT NULL, lost INTEGER NOT NULL,
  intended INTEGER, expected INTEGER, delivered INTEGER, missing INTEGER, late INTEGER,
  superseded INTEGER, excused INTEGER, unserved INTEGER, unpublished INTEGER, duplicate INTEGER,
  p50_us INTEGER, p90_us INTEGER, p99_us INTEGER, p999_us INTEGER, max_us INTEGER, mean_us REAL,
  from_sent_p99_us INTEGER, read_lag_p99_us INTEGER, publisher_lag_p99_us INTEGER,
  age_mean_us REAL, age_p99_us INTEGER, connect_p50_us INTEGER, connect_p99_us INTEGER,
  server_cpu_us INTEGER, server_rss_bytes_peak INTEGER, server_rss_bytes_per_connection REAL,
  generator_cpu_us INTEGER, generator_busiest_core REAL, softirq_us INTEGER,
  bytes_in INTEGER NOT NULL, bytes_out INTEGER NOT NULL,
  PRIMARY KEY (run, transport, target));

-- A row a figure that was measured: every metric of METRICS.md, by its name, in its unit.
CREATE TABLE metrics (
  run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
  transport TEXT NOT NULL, metric TEXT NOT NULL, value REAL NOT NULL,
  PRIMARY KEY (run, transport, metric)) WITHOUT ROWID;

-- A row an axis of the suite: what the case varied, as the suite writes it.
CREATE TABLE axes (
  run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
  axis TEXT NOT NULL, value TEXT NOT NULL,
  PRIMARY KEY (run, axis)) WITHOUT ROWID;

-- A row a phase of an arm, from the arm's start.
CREATE TABLE phases (
  run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
  transport TEXT NOT NULL,
  phase TEXT NOT NULL,           -- ramp, settle, warmup, measure, drain
  start_us INTEGER NOT NULL, end_us INTEGER NOT NULL,
  PRIMARY KEY (run, transport, phase)) WITHOUT ROWID;

-- A row a threshold and arm.
CREATE TABLE thresholds (
  run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
  arm TEXT NOT NULL, expression TEXT NOT NULL, value REAL, ok INTEGER NOT NULL);

CREATE INDEX thresholds_run ON thresholds(run);
CREATE INDEX runs_suite ON runs(suite, case_id);

-- The phase in which things count.
CREATE VIEW measured AS SELECT run, transport, start_us, end_us FROM phases WHERE phase = 'measure';

-- The arms of suites, with their axes as one JSON object: axes ->> 'clients'.
CREATE VIEW cells AS
SELECT r.suite, r.case_id, r.repeat, r.server, a.*,
  (SELECT json_group_object(axis, value) FROM axes x WHERE x.run = r.id) AS axes
FROM runs r JOIN arms a ON a.run = r.id
WHERE r.suite IS NOT NULL;

-- Each metric of each cell over its starts; runs that cannot be believed are left out. Percentiles
-- are never pooled: the mean of the starts' percentiles is a mean of n numbers.
CREATE VIEW cell_metrics AS
SELECT r.suite, r.case_id, m.transport, m.metric, count(*) AS n, avg(m.value) AS mean,
  CASE WHEN count(*) > 1 THEN max(0.0,
    (sum(m.value * m.value) - count(*) * avg(m.value) * avg(m.value)) / (count(*) - 1)) END AS variance,
  min(m.value) AS least, max(m.value) AS most
FROM runs r JOIN arms a ON a.run = r.id JOIN metrics m ON m.run = a.run AND m.transport = a.transport
WHERE r.suite IS NOT NULL AND a.verdict <> 'invalid'
GROUP BY r.suite, r.case_id, m.transport, m.metric;

-- Study 1: what long polls and streams answered, by server, style, interval and crowd, and how near
-- the closed loop came to its ceiling, clients ÷ hold.
CREATE VIEW study_1_answers AS
SELECT c.suite, c.server, c.axes ->> 'style' AS style, c.axes ->> 'emit' AS emit, c.axes ->> 'hold' AS hold,
  c.asked AS clients, c.repeat, c.outcome, c.verdict, c.delivered,
  answers.value AS answers, timeouts.value AS timeouts, rate.value AS answers_per_s,
  receivers.value AS receivers_per_publication, overshoot.value AS hold_overshoot_p50_us, c.run
FROM cells c
LEFT JOIN metrics answers ON (answers.run, answers.transport, answers.metric) = (c.run, c.transport, 'long_poll.answers')
LEFT JOIN metrics timeouts ON (timeouts.run, timeouts.transport, timeouts.metric) = (c.run, c.transport, 'long_poll.timeouts')
LEFT JOIN metrics rate ON (rate.run, rate.transport, rate.metric) = (c.run, c.transport, 'long_poll.answers_per_s')
LEFT JOIN metrics receivers
  ON (receivers.run, receivers.transport, receivers.metric) = (c.run, c.transport, 'long_poll.receivers_per_publication')
LEFT JOIN metrics overshoot
  ON (overshoot.run, overshoot.transport, overshoot.metric) = (c.run, c.transport, 'long_poll.hold_overshoot.p50')
WHERE c.suite LIKE 'comet%';

-- Study 1: memory and CPU of the server, its process tree alone.
CREATE VIEW study_1_cost AS
SELECT suite, server, axes ->> 'style' AS style, axes ->> 'emit' AS emit, axes ->> 'hold' AS hold,
  asked AS clients, repeat, outcome, verdict, server_cpu_us, server_rss_bytes_peak,
  server_rss_bytes_per_connection, softirq_us, generator_cpu_us, run
FROM cells WHERE suite LIKE 'comet%';

-- Study 2: latency against what was offered and what arrived, by crowd and room.
CREATE VIEW study_2_chat AS
SELECT c.suite, c.server, c.transport, c.asked AS users, c.axes ->> 'room' AS room, c.repeat, c.outcome, c.verdict,
  1e6 * c.intended / (p.end_us - p.start_us) AS offered_per_s,
  1e6 * c.delivered / (p.end_us - p.start_us) AS delivered_per_s,
  c.mean_us, c.p50_us, c.p99_us, c.run
FROM cells c JOIN measured p ON (p.run, p.transport) = (c.run, c.transport)
WHERE c.suite LIKE 'chat%';

-- Study 3: trip time, what was received and at what cost, pushed and pulled.
CREATE VIEW study_3_push_pull AS
SELECT c.suite, c.server, c.transport, c.axes ->> 'scheme' AS scheme, c.asked AS users,
  c.axes ->> 'interval' AS publish_interval, c.repeat, c.outcome, c.verdict,
  trip.value AS trip_mean_us, c.age_mean_us, c.intended, c.delivered, c.duplicate, c.superseded, c.missing,
  polls.value AS polls, redundant.value AS redundant, c.server_cpu_us, c.bytes_in, c.bytes_out,
  segments.value AS segments_in, c.run
FROM cells c
LEFT JOIN metrics trip ON (trip.run, trip.transport, trip.metric) = (c.run, c.transport, 'trip.mean')
LEFT JOIN metrics polls ON (polls.run, polls.transport, polls.metric) = (c.run, c.transport, 'poll.requests')
LEFT JOIN metrics redundant
  ON (redundant.run, redundant.transport, redundant.metric) = (c.run, c.transport, 'poll.redundant')
LEFT JOIN metrics segments
  ON (segments.run, segments.transport, segments.metric) = (c.run, c.transport, 'wire.segments_in')
WHERE c.suite LIKE 'push-pull%' OR c.suite LIKE 'crossover%';

-- Study 4: latency, CPU, rate and bandwidth against clients and update rate.
CREATE VIEW study_4_feed AS
SELECT c.suite, c.server, c.transport, c.asked AS clients, c.axes ->> 'updates' AS updates_per_client,
  c.axes ->> 'batch' AS batch, c.repeat, c.outcome, c.verdict,
  1e6 * c.delivered / (p.end_us - p.start_us) AS delivered_per_s,
  1e6 * bytes.value / (p.end_us - p.start_us) AS bytes_per_s,
  c.mean_us, c.p50_us, c.p99_us, c.server_cpu_us * 1.0 / (p.end_us - p.start_us) AS server_cores, c.run
FROM cells c JOIN measured p ON (p.run, p.transport) = (c.run, c.transport)
LEFT JOIN metrics bytes
  ON (bytes.run, bytes.transport, bytes.metric) = (c.run, c.transport, 'wire.measure_bytes_in')
WHERE c.suite LIKE 'feed%';

-- Study 5: how many each server took before what ended it.
CREATE VIEW study_5_flood AS
SELECT suite, server, transport, repeat, axes, opened, lost, outcome, error, server_rss_bytes_peak,
  server_cpu_us, verdict, run
FROM cells WHERE suite LIKE 'threads-nio%';
