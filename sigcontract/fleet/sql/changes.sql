-- What changed between runs: graphs of a rank that differ from the previous run, that are new, or that are gone.
--
-- Runs are ordered by the time of their first dump. Dumps without a rank are left out.
--
-- old_run, new_run         two runs, one after the other
-- rank, graph              the graph
-- change                   changed, added or removed
-- old_digest, new_digest   portable digests
WITH runs AS (
    SELECT run, ROW_NUMBER() OVER (ORDER BY first_written, run) AS number
    FROM (SELECT run, MIN(created_at) AS first_written FROM graphs GROUP BY run) AS written
),
steps AS (
    SELECT old.run AS old_run, new.run AS new_run, new.number
    FROM runs AS old
    JOIN runs AS new ON new.number = old.number + 1
),
paired AS (
    SELECT
        steps.number, steps.old_run, steps.new_run, graphs.rank, graphs.graph,
        MIN(CASE WHEN graphs.run = steps.old_run THEN graphs.portable_digest END) AS old_digest,
        MIN(CASE WHEN graphs.run = steps.new_run THEN graphs.portable_digest END) AS new_digest
    FROM graphs
    JOIN steps ON graphs.run = steps.old_run OR graphs.run = steps.new_run
    WHERE graphs.rank IS NOT NULL
    GROUP BY steps.number, steps.old_run, steps.new_run, graphs.rank, graphs.graph
)
SELECT
    old_run, new_run, rank, graph,
    CASE WHEN old_digest IS NULL THEN 'added' WHEN new_digest IS NULL THEN 'removed' ELSE 'changed' END AS change,
    old_digest, new_digest
FROM paired
WHERE old_digest IS NULL OR new_digest IS NULL OR old_digest <> new_digest
ORDER BY number, rank, graph
