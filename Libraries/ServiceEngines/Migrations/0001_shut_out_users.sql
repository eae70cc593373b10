-- The document store creates partita.shut_out_users now.
do $$ begin end $$;
