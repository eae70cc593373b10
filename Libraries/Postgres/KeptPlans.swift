/// Statements that look up keys, with plans that are made once per connection.
///
/// Postgres takes an array whose length it doesn't know for a longer one than most are, so that it plans such a statement anew for each
/// execution, which takes longer than the look-up. A plan that is kept may have been made when its tables were small: so it must not read
/// one as a whole. Where there is no other way, that costs so much, by estimate, that Postgres would compile the plan, which takes
/// longer still.
public enum KeptPlans {
    /// A part of a SELECT: what follows in its transaction isn't planned anew for its parameters.
    public static let setting = "set_config('plan_cache_mode', 'force_generic_plan', true)"
    /// Parts of a SELECT that apply to what follows in its transaction, or in its pipeline if that is an implicit one.
    public static let settings = """
        \(setting), set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)
        """
}

extension PostgresQuerying {
    /// Runs a statement that looks up keys; see ``KeptPlans``. In a transaction, the settings apply to what follows, too.
    public func lookUp(_ sql: String, _ parameters: [PostgresValue]) async throws -> PostgresRows {
        try await pipeline([
            PostgresStatement("select \(KeptPlans.settings)"), PostgresStatement(sql, parameters),
        ])[1]
    }
}
