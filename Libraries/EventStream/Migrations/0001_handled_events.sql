CREATE TABLE partita.handled_events (
    consumer text NOT NULL,
    app text NOT NULL,
    partition text NOT NULL,
    -- The newest epoch of which a revision was handled, and the first revision number known of it.
    epoch integer NOT NULL,
    epoch_begin bigint NOT NULL,
    -- All revisions up to this number are handled, and these above it.
    watermark bigint NOT NULL,
    above bigint[] NOT NULL DEFAULT '{}',
    PRIMARY KEY (consumer, app, partition)
);

COMMENT ON TABLE partita.handled_events IS
    'Which revisions of each partition a consumer has handled. A row changes in the transaction of the effect.';

CREATE TABLE partita.handled_event_ids (
    consumer text NOT NULL,
    event_id text NOT NULL,
    handled_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (consumer, event_id)
);

CREATE INDEX handled_event_ids_by_time ON partita.handled_event_ids (handled_at);

COMMENT ON TABLE partita.handled_event_ids IS
    'Which events without a revision a consumer has handled, for as long as they may come again.';
