-- Which executables could be shared: for each dump, its graphs and the executables that they need.
--
-- An executable belongs to one process. Graphs of one share key can share one under the policy `share`; a graph without
-- a key has something unknown in it, and needs its own.
--
-- run, rank, file   the dump
-- graphs            its graphs
-- executables       executables that they need
-- saved             graphs minus executables
SELECT
    run, rank, file,
    COUNT(*) AS graphs,
    COUNT(DISTINCT share_key) + COUNT(*) - COUNT(share_key) AS executables,
    COUNT(share_key) - COUNT(DISTINCT share_key) AS saved
FROM graphs
GROUP BY run, rank, file
ORDER BY run, rank NULLS FIRST, file
