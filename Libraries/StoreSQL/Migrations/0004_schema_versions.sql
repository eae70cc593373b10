-- The version of the app's schema with which a device was built that uploads: deployments tell who would be broken. null for those that
-- have uploaded nothing since this column is there.
alter table partita.uploads add column schema_version bigint;
