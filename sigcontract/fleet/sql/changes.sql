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
ranked AS (
    SELECT runs.number, graphs.rank, graphs.graph, MIN(graphs.portable_digest) AS digest
    FROM graphs
    JOIN runs ON graphs.run = runs.run
    WHERE graphs.rank IS NOT NULL
    GROUP BY runs.number, graphs.rank, graphs.graph
),
paired AS (
    SELECT
        COALESCE(new.number, old.number + 1) AS number,
        COALESCE(new.rank, old.rank) AS rank,
        COALESCE(new.graph, old.graph) AS graph,
        old.digest AS old_digest,
        new.digest AS new_digest
    FROM ranked AS old
    FULL OUTER JOIN ranked AS new
        ON old.number + 1 = new.number AND old.rank = new.rank AND old.graph = new.graph
)
SELECT
    before.run AS old_run, after.run AS new_run, paired.rank, paired.graph,
    CASE WHEN old_digest IS NULL THEN 'added' WHEN new_digest IS NULL THEN 'removed' ELSE 'changed' END AS change,
    old_digest, new_digest
FROM paired
JOIN runs AS after ON after.number = paired.number
JOIN runs AS before ON before.number = paired.number - 1
WHERE old_digest IS NULL OR new_digest IS NULL OR old_digest <> new_digest
ORDER BY paired.number, paired.rank, paired.graph
