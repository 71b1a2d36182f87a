-- Where ranks part: each node of which the ranks of one run hold more than one kind, every kind with its ranks.
--
-- Only graphs of which the ranks of a run hold more than one portable digest are looked into. Nodes are those of one
-- position: where a rank has a node more, what comes after it is another position.
--
-- run, graph, position, path  the node
-- kinds                       how many kinds of it the ranks of this run hold
-- dumps                       dumps that hold this kind
-- first_rank, last_rank       the first and the last rank that do
-- name .. code_sha256         what it is
WITH parted AS (
    SELECT run, graph
    FROM graphs
    GROUP BY run, graph
    HAVING COUNT(DISTINCT portable_digest) > 1
),
variants AS (
    SELECT
        nodes.run, nodes.graph, nodes.position, nodes.path, nodes.node_digest,
        COUNT(*) AS dumps,
        MIN(nodes.rank) AS first_rank,
        MAX(nodes.rank) AS last_rank,
        MIN(nodes.name) AS name,
        MIN(nodes.grid_x) AS grid_x, MIN(nodes.grid_y) AS grid_y, MIN(nodes.grid_z) AS grid_z,
        MIN(nodes.block_x) AS block_x, MIN(nodes.block_y) AS block_y, MIN(nodes.block_z) AS block_z,
        MIN(nodes.cluster_x) AS cluster_x, MIN(nodes.cluster_y) AS cluster_y, MIN(nodes.cluster_z) AS cluster_z,
        MIN(nodes.dynamic_shared_mem_bytes) AS dynamic_shared_mem_bytes,
        MIN(nodes.code_sha256) AS code_sha256
    FROM nodes
    JOIN parted ON nodes.run = parted.run AND nodes.graph = parted.graph
    GROUP BY nodes.run, nodes.graph, nodes.position, nodes.path, nodes.node_digest
),
counted AS (
    SELECT variants.*, COUNT(*) OVER (PARTITION BY run, graph, position, path) AS kinds
    FROM variants
)
SELECT
    run, graph, position, path, kinds, dumps, first_rank, last_rank, name,
    grid_x, grid_y, grid_z, block_x, block_y, block_z, cluster_x, cluster_y, cluster_z,
    dynamic_shared_mem_bytes, code_sha256
FROM counted
WHERE kinds > 1
ORDER BY run, graph, position, path, dumps DESC, node_digest
