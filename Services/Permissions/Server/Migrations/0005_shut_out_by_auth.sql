-- Auth writes them now, where all services read them.
insert into partita.shut_out_users (app, user_id, is_deleted, since)
    select app, user_id, false, since from partita.shut_out on conflict do nothing;
drop table partita.shut_out;
