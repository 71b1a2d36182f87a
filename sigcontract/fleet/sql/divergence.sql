-- Where ranks differ: each node of which the ranks of one run hold more than one kind, or that some rank lacks.
--
-- Only graphs of which the ranks of a run hold more than one portable digest are compared. Nodes correspond by position:
-- where a rank has one more node, every node after it has another position.
--
-- run, graph, position, path  the node
-- kinds                       distinct nodes at this position among the ranks of this run
-- dumps, of_dumps             dumps with this kind, and dumps with this graph
-- first_rank, last_rank       the first and the last rank with this kind
-- name .. code_sha256         what this kind is
WITH differing AS (
    SELECT run, graph, COUNT(*) AS of_dumps
    FROM graphs
    GROUP BY run, graph
    HAVING COUNT(DISTINCT portable_digest) > 1
),
positions AS (
    SELECT nodes.run, nodes.graph, nodes.position, MIN(differing.of_dumps) AS of_dumps
    FROM nodes
    JOIN differing ON nodes.run = differing.run AND nodes.graph = differing.graph
    GROUP BY nodes.run, nodes.graph, nodes.position
    HAVING MIN(nodes.node_digest) <> MAX(nodes.node_digest) OR COUNT(*) < MIN(differing.of_dumps)
)
SELECT
    nodes.run, nodes.graph, nodes.position, nodes.path,
    COUNT(*) OVER (PARTITION BY nodes.run, nodes.graph, nodes.position) AS kinds,
    COUNT(*) AS dumps,
    MIN(positions.of_dumps) AS of_dumps,
    MIN(nodes.rank) AS first_rank,
    MAX(nodes.rank) AS last_rank,
    MIN(nodes.name) AS name,
    MIN(nodes.grid_x) AS grid_x, MIN(nodes.grid_y) AS grid_y, MIN(nodes.grid_z) AS grid_z,
    MIN(nodes.block_x) AS block_x, MIN(nodes.block_y) AS block_y, MIN(nodes.block_z) AS block_z,
    MIN(nodes.cluster_x) AS cluster_x, MIN(nodes.cluster_y) AS cluster_y, MIN(nodes.cluster_z) AS cluster_z,
    MIN(nodes.dynamic_shared_mem_bytes) AS dynamic_shared_mem_bytes,
    MIN(nodes.code_sha256) AS code_sha256
FROM nodes
JOIN positions ON nodes.run = positions.run AND nodes.graph = positions.graph AND nodes.position = positions.position
GROUP BY nodes.run, nodes.graph, nodes.position, nodes.path, nodes.node_digest
ORDER BY nodes.run, nodes.graph, nodes.position, nodes.path, dumps DESC, nodes.node_digest
