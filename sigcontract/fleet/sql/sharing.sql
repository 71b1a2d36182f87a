-- Which executables could be shared: of each dump, how many graphs it has and how many executables would do.
--
-- An executable belongs to one process. Graphs of one share key can have one under the policy `share`; a graph without
-- a key holds something unknown, and needs one of its own.
--
-- run, rank, file   the dump
-- graphs            its graphs
-- executables       how many would do
-- saved             how many fewer that is
SELECT
    run, rank, file,
    COUNT(*) AS graphs,
    COUNT(DISTINCT share_key) + COUNT(*) - COUNT(share_key) AS executables,
    COUNT(share_key) - COUNT(DISTINCT share_key) AS saved
FROM graphs
GROUP BY run, rank, file
ORDER BY run, rank NULLS FIRST, file
