import DocumentModel
import HTTPServer

/// Who calls the administration API, by the token that was shown.
struct AdminCaller: Sendable {
    var tokenId: String
    var name: String
    var roles: Set<AdminRole>
    /// The only app that the token is for; `nil`: all of them.
    @ExactText var app: String
    var isForOneApp: Bool
    var state = AdminTokenRow.State.active

    /// - Throws: `adminTokenExpired`, `adminTokenRevoked`, `adminRoleMissing`, `adminAppForbidden`.
    func require(_ action: AdminAction, app: String?) throws(AuthError) {
        switch state {
        case .active: break
        case .expired: throw AuthError(.adminTokenExpired, "the administration token \(name) has expired")
        case .revoked: throw AuthError(.adminTokenRevoked, "the administration token \(name) is revoked")
        }
        guard admittingRole(of: action) != nil else {
            throw AuthError(
                .adminRoleMissing,
                "\(action.rawValue) needs one of the roles \(action.roles.map(\.rawValue).joined(separator: ", ")), and the token \(name) has \(roleNames)"
            )
        }
        guard !isForOneApp || app.map({ $0.hasSameBytes(as: self.app) }) ?? true else {
            throw AuthError(.adminAppForbidden, "the token \(name) is for the app \(self.app) only")
        }
    }

    private func admittingRole(of action: AdminAction) -> AdminRole? { action.roles.first(where: roles.contains) }

    var roleNames: String {
        AdminRole.allCases.filter(roles.contains).map(\.rawValue).joined(separator: ", ")
    }

    /// For the audit log: the role that admits to an action, or else all of them.
    func role(for action: AdminAction?) -> String { action.flatMap(admittingRole)?.rawValue ?? roleNames }
}

/// Recognizes administrators by their tokens.
struct AdminAccess: Sendable {
    let tokens: AdminTokens
    let throttle: AttemptThrottle
    /// The configured token, if there is one.
    let configured: String?
    let clock: WallClock

    /// The caller whose token a request shows, also when it has expired or is revoked.
    ///
    /// Only wrong tokens are counted, after the fact: a token has 256 random bits, so the limit isn't there to make guessing hard, but
    /// to keep wrong ones from making work; and whoever tries them can't lock out an administrator at the same address.
    ///
    /// - Throws: `missingAuthReq`, `tooManyRequests`.
    func caller(of request: HTTPRequest) async throws -> AdminCaller {
        let parts = (request.headers["authorization"] ?? "").split(separator: " ", maxSplits: 1).map(String.init)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else {
            throw AuthError(.missingAuthReq, "an administration token is missing: Authorization: Bearer TOKEN")
        }
        if let configured, !configured.isEmpty,
            // Digests have one length, so the comparison doesn't show the token's length.
            Sodium.areEqual(Sodium.digest(configured), Sodium.digest(parts[1]))
        {
            let name = "admin.token"
            return AdminCaller(tokenId: name, name: name, roles: [.users], app: "", isForOneApp: false)
        }
        if let row = try await tokens.find(parts[1]) {
            return AdminCaller(
                tokenId: row.id, name: row.name, roles: row.roles, app: row.app ?? "", isForOneApp: row.app != nil,
                state: row.state(at: clock.now()))
        }
        try await throttle.attempt(
            .admin, app: "*", subject: parts[1], caller: AttemptThrottle.Caller(address: request.remoteAddress.ip))
        throw AuthError(.missingAuthReq, "the administration token is wrong")
    }
}
