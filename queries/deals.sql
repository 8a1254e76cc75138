-- name: InsertDeal :exec
INSERT INTO deals (id, node_id, proxies) VALUES (@id, @node_id, @proxies);

-- name: ListDeals :many
-- ListDeals returns the deals of all servers, of every workspace. There are as many as there are batches under way.
SELECT * FROM deals ORDER BY id;

-- name: DeleteDeal :execrows
DELETE FROM deals WHERE id = @id;

-- name: DeleteDealsOfNode :execrows
-- DeleteDealsOfNode removes, at its boot and after its end, the deals of a server.
DELETE FROM deals WHERE node_id = @node_id;
