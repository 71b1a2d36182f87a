-- Which kernels run where: each name and machine code of a run, with its ranks, graphs and nodes.
--
-- run                    the run
-- name, code_sha256      the kernel; null: its code was not observed
-- codes                  distinct machine codes of this name in this run, unobserved ones not counted
-- ranks, graphs, nodes   how many run it
-- first_rank, last_rank  the first and the last rank that run it
WITH kernels AS (
    SELECT
        run, name, code_sha256, rank, graph, COUNT(*) AS nodes
    FROM nodes
    WHERE type = 'kernel'
    GROUP BY run, name, code_sha256, rank, graph
),
codes AS (
    SELECT run, name, COUNT(DISTINCT code_sha256) AS codes
    FROM kernels
    GROUP BY run, name
)
SELECT
    kernels.run, kernels.name, kernels.code_sha256,
    MIN(codes.codes) AS codes,
    COUNT(DISTINCT kernels.rank) AS ranks,
    COUNT(DISTINCT kernels.graph) AS graphs,
    CAST(SUM(kernels.nodes) AS BIGINT) AS nodes,
    MIN(kernels.rank) AS first_rank,
    MAX(kernels.rank) AS last_rank
FROM kernels
JOIN codes ON kernels.run = codes.run AND kernels.name = codes.name
GROUP BY kernels.run, kernels.name, kernels.code_sha256
ORDER BY kernels.run, kernels.name, kernels.code_sha256 NULLS FIRST
