-- A hosted file that compresses well, as gzip makes it, so that it isn't compressed for each request.
ALTER TABLE partita.app_files ADD COLUMN gzip bytea;
ALTER TABLE partita.app_files ALTER COLUMN gzip SET STORAGE EXTERNAL;
