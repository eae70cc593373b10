import ServiceEngines

/// Limits the records of refused calls, so that nobody fills the audit log with a token that was revoked, or with requests that no action
/// takes: so many a minute for each token. All processes count together.
struct AuditBudget: Sendable {
    enum Verdict {
        case write
        /// The first beyond the limit: the log shall say that records are missing from here on.
        case writeLast
        case count
    }

    /// Records of one token a minute, which begins with the first of them.
    static let limit: Int64 = 60

    let counts: SharedCounts

    /// What is to be done with the next record of a token.
    /// - Parameter token: one that exists, which only operators make.
    func spend(_ token: String) async throws -> Verdict {
        let number = try await counts.count("audit:\(token)", within: .seconds(60))
        return number <= Self.limit ? .write : number == Self.limit + 1 ? .writeLast : .count
    }
}
