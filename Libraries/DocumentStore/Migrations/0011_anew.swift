extension DocumentStoreMigrations {
    /// Partitions that are served anew: checkpoints of epochs before `anew` count as unknown there.
    static let anew = #"""
        alter table partita.partitions add column anew int not null default 0;

        -- Begins an epoch from which on a partition of the app, or each of them, is served anew. Returns how many are.
        create function partita.serve_anew(app_id text, partition_id text) returns bigint language plpgsql as $$
        declare
            present int := partita.begin_epoch('served anew');
            served bigint;
        begin
            -- One after the other in the order of their names, as every commit locks them.
            perform from partita.partitions
                where app = app_id and (partition_id is null or partition = partition_id) order by partition for update;
            update partita.partitions set anew = present
                where app = app_id and (partition_id is null or partition = partition_id);
            get diagnostics served = row_count;
            return served;
        end $$;
        """#
}
