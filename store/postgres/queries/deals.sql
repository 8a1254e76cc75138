-- name: InsertDeal :exec
INSERT INTO deals (id, node_id, proxies) VALUES ($1, $2, $3);

-- name: ListDeals :many
SELECT id, node_id, proxies FROM deals ORDER BY id;

-- name: DeleteDeal :execrows
DELETE FROM deals WHERE id = $1;

-- name: DeleteDealsOfNode :execrows
DELETE FROM deals WHERE node_id = $1;
