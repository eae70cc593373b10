extension PostgresQuerying {
    /// Deletes rows, the oldest first, by statements that each take a short time: one for all of them could take longer than a statement may,
    /// would delete nothing then, and has more to do the next time.
    /// - Parameters:
    ///   - time: The column, or the expression, by which an index finds the oldest.
    ///   - condition: Which rows are deleted, with the placeholders of `parameters`.
    /// - Returns: How many were deleted.
    @discardableResult
    public func deleteOldest(
        from table: String, by time: String, where condition: String, _ parameters: [PostgresValue]
    ) async throws -> Int {
        let batch = 5000
        var (deleted, last) = (0, batch)
        while last == batch {
            last = try await execute(
                """
                delete from \(table) where ctid = any(array(
                    select ctid from \(table) where \(condition) order by \(time) limit \(batch)))
                """, parameters)
            deleted += last
        }
        return deleted
    }
}
