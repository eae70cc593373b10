-- `partita.commit_grant` is in `Functions`, whose files come after these.
do $$ begin end $$;
