public import HTTPServer

/// Everything that the administration API offers: one route each, with the roles that admit to it. The raw values are in the audit log.
public enum AdminAction: String, CaseIterable, Sendable {
    case listApps = "app.list"
    case showApp = "app.show"
    case deploy = "app.deploy"
    case history = "app.history"
    case diff = "app.diff"
    case rollBack = "app.rollback"
    case export = "app.export"
    case remove = "app.remove"
    case check = "app.check"
    case explain = "access.explain"
    case listUsers = "user.list"
    case showUser = "user.show"
    case exportUser = "user.export"
    case deleteUser = "user.delete"
    case disableUser = "user.disable"
    case enableUser = "user.enable"
    case listSessions = "user.sessions"
    case endSessions = "user.sign-out"
    case endSession = "user.end-session"
    case listSecrets = "secret.list"
    case setSecret = "secret.set"
    case removeSecret = "secret.remove"
    case listTriggers = "trigger.list"
    case pauseTrigger = "trigger.pause"
    case resumeTrigger = "trigger.resume"
    case readAudit = "audit.read"

    /// Each of these roles admits to it.
    public var roles: [AdminRole] {
        switch self {
        case .listApps: AdminRole.allCases
        case .deploy, .rollBack, .remove: [.deploy]
        case .showApp, .history, .diff, .export, .check: [.deploy, .readOnly]
        case .explain, .listUsers, .showUser, .listSessions: [.users, .readOnly]
        case .exportUser, .deleteUser, .disableUser, .enableUser, .endSessions, .endSession: [.users]
        case .listSecrets: [.secrets, .readOnly]
        case .setSecret, .removeSecret: [.secrets]
        case .listTriggers: [.triggers, .readOnly]
        case .pauseTrigger, .resumeTrigger: [.triggers]
        case .readAudit: [.readOnly]
        }
    }

    /// The route's method and template.
    public var route: (method: HTTPMethod, template: String) {
        switch self {
        case .listApps: (.get, "/api/admin/v1/apps")
        case .showApp: (.get, "/api/admin/v1/apps/:app")
        case .remove: (.delete, "/api/admin/v1/apps/:app")
        case .history: (.get, "/api/admin/v1/apps/:app/versions")
        case .deploy: (.post, "/api/admin/v1/apps/:app/versions")
        case .diff: (.post, "/api/admin/v1/apps/:app/diff")
        case .rollBack: (.post, "/api/admin/v1/apps/:app/rollback")
        case .export: (.get, "/api/admin/v1/apps/:app/archive")
        case .check: (.get, "/api/admin/v1/apps/:app/check")
        case .explain: (.get, "/api/admin/v1/apps/:app/access")
        case .listUsers: (.get, "/api/admin/v1/apps/:app/users")
        case .showUser: (.get, "/api/admin/v1/apps/:app/users/:user")
        case .deleteUser: (.delete, "/api/admin/v1/apps/:app/users/:user")
        case .exportUser: (.get, "/api/admin/v1/apps/:app/users/:user/export")
        case .disableUser: (.put, "/api/admin/v1/apps/:app/users/:user/disable")
        case .enableUser: (.put, "/api/admin/v1/apps/:app/users/:user/enable")
        case .listSessions: (.get, "/api/admin/v1/apps/:app/users/:user/sessions")
        case .endSessions: (.delete, "/api/admin/v1/apps/:app/users/:user/sessions")
        case .endSession: (.delete, "/api/admin/v1/apps/:app/users/:user/sessions/:session")
        case .listSecrets: (.get, "/api/admin/v1/apps/:app/secrets")
        case .setSecret: (.put, "/api/admin/v1/apps/:app/secrets/:secret")
        case .removeSecret: (.delete, "/api/admin/v1/apps/:app/secrets/:secret")
        case .listTriggers: (.get, "/api/admin/v1/apps/:app/triggers")
        case .pauseTrigger: (.put, "/api/admin/v1/apps/:app/triggers/:trigger/pause")
        case .resumeTrigger: (.put, "/api/admin/v1/apps/:app/triggers/:trigger/resume")
        case .readAudit: (.get, "/api/admin/v1/audit")
        }
    }

    /// Whether the body is an app's archive.
    var takesArchive: Bool { self == .deploy || self == .diff }

    /// Whether it may hold a connection to Postgres, or an app's files in memory, for long.
    var isLong: Bool {
        switch self {
        case .deploy, .diff, .rollBack, .export, .remove, .check, .explain: true
        default: false
        }
    }
}
