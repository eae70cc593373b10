-- Marks revisions of one epoch as handled, and returns those that were not handled before. The row stays locked until the
-- transaction ends.
CREATE OR REPLACE FUNCTION partita.claim_revisions(
    p_consumer text, p_app text, p_partition text, p_epoch integer, p_numbers bigint[]
) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    known partita.handled_events;
    first bigint;
    last bigint;
    different bigint;
    fresh bigint[];
    handled bigint[];
    mark bigint;
BEGIN
    SELECT min(n), max(n), count(DISTINCT n) INTO first, last, different FROM unnest(p_numbers) n;
    IF first IS NULL THEN
        RETURN '{}';
    END IF;

    -- Almost always these are the next revisions, without a gap.
    IF last - first + 1 = different THEN
        UPDATE partita.handled_events SET watermark = last
        WHERE consumer = p_consumer AND app = p_app AND partition = p_partition
            AND epoch = p_epoch AND watermark = first - 1 AND epoch_begin <= first AND above = '{}';
        IF FOUND THEN
            RETURN ARRAY(SELECT generate_series(first, last));
        END IF;
    END IF;

    -- Handled revisions stay handled, so a read without a lock suffices for a redelivery.
    SELECT * INTO known FROM partita.handled_events
    WHERE consumer = p_consumer AND app = p_app AND partition = p_partition;
    IF FOUND AND known.epoch = p_epoch AND first >= known.epoch_begin
        AND NOT EXISTS (SELECT FROM unnest(p_numbers) n WHERE n > known.watermark AND n <> ALL (known.above))
    THEN
        RETURN '{}';
    END IF;

    INSERT INTO partita.handled_events (consumer, app, partition, epoch, epoch_begin, watermark)
    VALUES (p_consumer, p_app, p_partition, p_epoch, CASE WHEN p_epoch > 1 THEN first ELSE 1 END, 0)
    ON CONFLICT DO NOTHING;
    SELECT * INTO STRICT known FROM partita.handled_events
    WHERE consumer = p_consumer AND app = p_app AND partition = p_partition
    FOR UPDATE;

    -- After a restore, the new epoch reuses the numbers of the old epoch above the restored head. These no longer count as handled.
    IF p_epoch > known.epoch THEN
        known.watermark := least(known.watermark, first - 1);
        SELECT coalesce(array_agg(n ORDER BY n), '{}') INTO known.above FROM unnest(known.above) n WHERE n < first;
        known.epoch := p_epoch;
        known.epoch_begin := first;
    ELSIF p_epoch = known.epoch AND first < known.epoch_begin THEN
        SELECT coalesce(array_agg(n ORDER BY n), '{}') INTO known.above FROM (
            SELECT n FROM unnest(known.above) n WHERE n < first OR n >= known.epoch_begin
            UNION SELECT generate_series(known.epoch_begin, known.watermark)
        ) kept(n);
        known.watermark := least(known.watermark, first - 1);
        known.epoch_begin := first;
    END IF;

    SELECT coalesce(array_agg(DISTINCT n), '{}') INTO fresh FROM unnest(p_numbers) n
    WHERE n > known.watermark AND n <> ALL (known.above) AND (p_epoch = known.epoch OR n < known.epoch_begin);

    handled := known.above || fresh;
    SELECT coalesce(max(n), known.watermark) INTO mark FROM (
        SELECT n, row_number() OVER (ORDER BY n) AS place FROM unnest(handled) n WHERE n > known.watermark
    ) ordered WHERE n = known.watermark + place;
    SELECT coalesce(array_agg(n ORDER BY n), '{}') INTO handled FROM unnest(handled) n WHERE n > mark;

    UPDATE partita.handled_events
    SET epoch = known.epoch, epoch_begin = known.epoch_begin, watermark = mark, above = handled
    WHERE consumer = p_consumer AND app = p_app AND partition = p_partition;
    RETURN fresh;
END
$$;

-- Marks all revisions up to a number as handled: their change rows are deleted, or are older than the consumer.
CREATE OR REPLACE FUNCTION partita.skip_revisions(
    p_consumer text, p_app text, p_partition text, p_epoch integer, p_number bigint
) RETURNS void LANGUAGE sql AS $$
    INSERT INTO partita.handled_events AS h (consumer, app, partition, epoch, epoch_begin, watermark)
    VALUES (p_consumer, p_app, p_partition, p_epoch, 1, p_number)
    ON CONFLICT (consumer, app, partition) DO UPDATE SET
        (watermark, above) = (
            SELECT coalesce(max(n) FILTER (WHERE n = base + place), base),
                coalesce(array_agg(n ORDER BY n) FILTER (WHERE n <> base + place), '{}')
            FROM (SELECT greatest(h.watermark, p_number) AS base) b
            LEFT JOIN LATERAL (
                SELECT n, row_number() OVER (ORDER BY n) AS place FROM unnest(h.above) n WHERE n > base
            ) o ON true
            GROUP BY base
        )
    WHERE h.watermark < p_number;
$$;
