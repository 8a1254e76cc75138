-- +goose Up
-- Lists are found in memory (store/list_index.go). schema.sql gives the reasons for what is left.

DROP INDEX profiles_of_workspace_updated;
DROP INDEX profiles_of_workspace_name;
DROP INDEX profiles_of_workspace_started;
DROP INDEX profiles_created;
DROP INDEX profiles_updated;
DROP INDEX profiles_name;
DROP INDEX profiles_started;
DROP INDEX proxies_created;
DROP INDEX audit_at;

DROP TRIGGER profiles_changed;
