import AppDeployment
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
    case listDeadLetters = "dead-letter.list"
    case showDeadLetter = "dead-letter.show"
    case replayDeadLetter = "dead-letter.replay"
    case discardDeadLetter = "dead-letter.discard"
    case readLogs = "log.read"
    case readDocuments = "document.read"
    case writeDocuments = "document.write"
    case listIndexes = "index.list"
    case createIndex = "index.create"
    case dropIndex = "index.drop"
    case showPartition = "partition.show"
    case serveAnew = "partition.serve-anew"
    case listServerKeys = "server-key.list"
    case makeServerKey = "server-key.create"
    case disableServerKey = "server-key.disable"
    case enableServerKey = "server-key.enable"
    case deleteServerKey = "server-key.delete"
    case readAudit = "audit.read"

    /// Each of these roles admits to it.
    public var roles: [AdminRole] {
        switch self {
        case .listApps: AdminRole.allCases
        case .deploy, .rollBack, .remove: [.deploy]
        case .showApp, .history, .diff, .export, .check: [.deploy, .readOnly]
        // Whoever may deploy can do this already, by a function.
        case .writeDocuments, .createIndex, .dropIndex, .serveAnew, .makeServerKey: [.deploy]
        case .readDocuments, .listIndexes: [.deploy, .readOnly]
        case .showPartition, .listServerKeys: [.deploy, .users, .readOnly]
        case .disableServerKey, .enableServerKey, .deleteServerKey: [.deploy, .users]
        case .readLogs: [.deploy, .triggers, .readOnly]
        case .explain, .listUsers, .showUser, .listSessions: [.users, .readOnly]
        case .exportUser, .deleteUser, .disableUser, .enableUser, .endSessions, .endSession: [.users]
        case .listSecrets: [.secrets, .readOnly]
        case .setSecret, .removeSecret: [.secrets]
        case .listTriggers, .listDeadLetters, .showDeadLetter: [.triggers, .readOnly]
        case .pauseTrigger, .resumeTrigger, .replayDeadLetter, .discardDeadLetter: [.triggers]
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
        case .listDeadLetters: (.get, "/api/admin/v1/apps/:app/dead-letters")
        case .showDeadLetter: (.get, "/api/admin/v1/apps/:app/dead-letters/:number")
        case .discardDeadLetter: (.delete, "/api/admin/v1/apps/:app/dead-letters/:number")
        case .replayDeadLetter: (.post, "/api/admin/v1/apps/:app/dead-letters/:number/replay")
        case .readLogs: (.get, "/api/admin/v1/apps/:app/logs")
        case .readDocuments: (.post, "/api/admin/v1/apps/:app/documents/:database/:collection/read/:method")
        case .writeDocuments: (.post, "/api/admin/v1/apps/:app/documents/:database/:collection/write/:method")
        case .listIndexes: (.get, "/api/admin/v1/apps/:app/indexes")
        case .createIndex: (.post, "/api/admin/v1/apps/:app/indexes")
        case .dropIndex: (.delete, "/api/admin/v1/apps/:app/indexes/:index")
        case .showPartition: (.get, "/api/admin/v1/apps/:app/partitions")
        case .serveAnew: (.post, "/api/admin/v1/apps/:app/partitions/anew")
        case .listServerKeys: (.get, "/api/admin/v1/apps/:app/keys")
        case .makeServerKey: (.post, "/api/admin/v1/apps/:app/keys/:key")
        case .deleteServerKey: (.delete, "/api/admin/v1/apps/:app/keys/:key")
        case .disableServerKey: (.put, "/api/admin/v1/apps/:app/keys/:key/disable")
        case .enableServerKey: (.put, "/api/admin/v1/apps/:app/keys/:key/enable")
        case .readAudit: (.get, "/api/admin/v1/audit")
        }
    }

    /// The names of the template's parameters, in order.
    var parameters: [String] {
        route.template.split(separator: "/").filter { $0.first == ":" }.map { String($0.dropFirst()) }
    }

    /// The largest body, in bytes.
    var bodyLimit: Int {
        switch self {
        case .deploy, .diff: AppSource.archiveLimit
        case .writeDocuments: AdminCall.documentsLimit
        default: RouteSupport.bodyLimit
        }
    }

    /// What a call may hold for long.
    enum Load {
        case short
        /// An app's files in memory, and a connection to Postgres.
        case app
        /// A connection to Postgres.
        case documents
    }

    var load: Load {
        switch self {
        case .deploy, .diff, .rollBack, .export, .remove, .check, .explain: .app
        case .readDocuments, .writeDocuments, .createIndex, .dropIndex, .showPartition, .serveAnew: .documents
        default: .short
        }
    }
}
