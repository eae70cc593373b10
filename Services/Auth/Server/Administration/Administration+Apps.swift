public import AppDefinition
public import AppDeployment
import AppRegistry
public import DocumentModel
import DocumentStore
import EventLoop
import ServiceEngines
import SyncEngine

extension Administration {
    /// How long a call of the API may wait for another deployment, and for services, in seconds.
    public static let waitLimit = 120

    func performOnApp(_ call: AdminCall) async throws -> AdminAnswer {
        let app = call.app
        switch call.action {
        case .listApps: return AdminAnswer(["apps": .array(try await apps())])
        case .showApp:
            let count = try await deployments.documentCount(of: app)
            let version = try await registry.versions()[app]
            return AdminAnswer([
                "app": .string(app), "version": version.map(Value.int64) ?? .null, "documents": .int64(Int64(count)),
            ])
        case .deploy:
            let options = try Self.options(of: call)
            return AdminAnswer(try await deploy(try await Self.files(of: call), options))
        case .diff: return AdminAnswer(try await difference(try await Self.files(of: call)))
        case .rollBack:
            let options = try Self.options(of: call)
            return AdminAnswer(
                try await rollBack(app, to: try call.number("to", in: 1...Int64.max), options))
        case .history: return AdminAnswer(["versions": .array(try await history(of: app))])
        case .export:
            let export = try await deployments.export(app, version: try call.number("version", in: 1...Int64.max))
            var about: Document = [
                "app": .string(app), "version": .int64(export.version), "deployedAt": .date(export.deployedAt),
                "files": .int64(Int64(export.files.count)),
            ]
            about["appId"] = export.choices.appId.map { .string($0.text) }
            about["syncBy"] = export.choices.syncBy.map { .string($0.text) }
            return AdminAnswer(about, archive: try AppDeployments.archive(export, as: .tar))
        case .remove:
            let wait = try call.number("wait", in: 0...Int64(Self.waitLimit))
            return AdminAnswer(
                try await remove(
                    app, deletesDocuments: try call.flag("documents"), wait: wait.map { .seconds($0) },
                    waiting: { _ in }))
        case .check: return AdminAnswer(["findings": .array(try await findings(app))])
        default:
            let explanation = try await deployments.explain(
                app, user: try call.requiredText("user"),
                partition: Partition(given: try call.requiredText("partition")).text,
                document: call.text("document"))
            return AdminAnswer(["steps": .document(explanation.document), "lines": .texts(explanation.lines)])
        }
    }

    private func apps() async throws -> [Value] {
        try await registry.migrate()
        var apps: [Value] = []
        for (key, version) in try await registry.versions().sorted(by: { $0.key < $1.key }) {
            guard let app = try await registry.load(key.text)?.definition else { continue }
            apps.append([
                "app": .string(key.text), "version": .int64(version),
                "collections": .int64(Int64(app.collections.count)), "functions": .int64(Int64(app.functions.count)),
                "triggers": .int64(Int64(app.triggers.count)),
            ])
        }
        return apps
    }

    private func history(of app: String) async throws -> [Value] {
        try await registry.migrate()
        let versions = try await registry.history(of: app)
        guard !versions.isEmpty else { throw AuthError(.appNotFound, "no app \(app) was ever deployed") }
        return versions.map { version in
            var row: Document = [
                "version": .int64(version.number), "at": .date(version.deployedAt),
                "isCurrent": .bool(version.isCurrent), "bytes": .int64(version.bytes),
            ]
            row["digest"] = version.digest.map { .string($0) }
            row["by"] = version.by.map { .string($0) }
            row["message"] = version.message.map { .string($0) }
            row["restores"] = version.restores.map { .int64($0) }
            return .document(row)
        }
    }

    private func findings(_ app: String) async throws -> [Value] {
        let deployed = try await deployments.deployed(app)
        return try await StoreCheck(AppStorage(deployed.definition), on: client).findings().map { finding in
            [
                "code": .string(finding.code.rawValue), "count": .int64(Int64(finding.count)),
                "example": .string(finding.example), "meaning": .string(finding.meaning),
                "remedy": .string(finding.remedy),
            ]
        }
    }

    // MARK: Deploying

    /// Deploys an app, as the call `deploy` does.
    public func deploy(_ files: AppFiles, _ options: AppDeployments.Options) async throws -> Document {
        Self.document(of: try await deployments.deploy(files, options), isDryRun: options.isDryRun)
    }

    /// Deploys a former version again, as the call `rollBack` does.
    public func rollBack(_ app: String, to version: Int64?, _ options: AppDeployments.Options) async throws -> Document
    {
        Self.document(
            of: try await deployments.rollBack(app, to: version, options), isDryRun: options.isDryRun)
    }

    private static func document(of outcome: AppDeployments.Outcome, isDryRun: Bool) -> Document {
        var document: Document = [
            "app": .string(outcome.definition.id), "version": outcome.app.map { .int64($0.version) } ?? .null,
            "isNew": .bool(outcome.isNew), "isDryRun": .bool(isDryRun),
            "services": .int64(Int64(outcome.serviceCount)), "warnings": .texts(outcome.warnings),
            "lines": .texts(outcome.lines(isDryRun: isDryRun)),
        ]
        document["refusal"] = outcome.refusal.map {
            ["error": .string($0.message), "error_code": .string($0.code.rawValue)]
        }
        return document
    }

    /// Compares an app with its deployed version, as the call `diff` does.
    public func difference(_ files: AppFiles) async throws -> Document {
        let difference = try await deployments.difference(files)
        var document: Document = [
            "version": difference.version.map(Value.int64) ?? .null,
            "parts": .array(
                (difference.files + difference.features).map {
                    ["feature": .string($0.feature), "name": .string($0.name), "change": .string($0.kind.rawValue)]
                }),
        ]
        document["access"] = difference.access.map(Self.value)
        document["dataAccess"] = difference.dataAccess.map(Self.value)
        document["impact"] = .texts(difference.impact.lines)
        return document
    }

    private static func value(of access: AccessDifference) -> Value {
        [
            "pairs": .int64(Int64(access.pairs)), "evaluated": .int64(Int64(access.evaluated)),
            "failed": .int64(Int64(access.failed)), "gains": .int64(Int64(access.gains)),
            "losses": .int64(Int64(access.losses)),
            "examples": .array(
                access.examples.map { change in
                    var example: Document = ["user": .string(change.user)]
                    switch change.subject {
                    case .partition(let partition): example["partition"] = .string(partition)
                    case .document(let collection, let id):
                        example["collection"] = .string(collection)
                        example["document"] = .string(id)
                    }
                    example["before"] = .string(change.before.rawValue)
                    example["after"] = .string(change.after.rawValue)
                    return .document(example)
                }),
            "lines": .texts(access.lines),
        ]
    }

    /// Removes an app, as the call `remove` does.
    /// - Parameters:
    ///   - wait: for another deployment, and for services; `nil`: a minute, and ten seconds.
    ///   - waiting: as in `AppDeployments`.
    public func remove(
        _ app: String, deletesDocuments: Bool, wait: Duration?, waiting: @escaping @Sendable (String) -> Void
    ) async throws -> Document {
        let removal = try await deployments.remove(
            app, deletesDocuments: deletesDocuments, lockLimit: wait ?? .seconds(60),
            serviceLimit: wait ?? .seconds(10), waiting: waiting)
        return [
            "app": .string(app), "deletedDocuments": .int64(Int64(removal.deletedDocuments)),
            "warnings": .texts(removal.warnings),
        ]
    }

    private static func options(of call: AdminCall) throws -> AppDeployments.Options {
        var options = AppDeployments.Options()
        options.message = call.text("message")
        options.mayRepartition = try call.flag("repartition")
        options.mayBreakSchema = try call.flag("allowBreaking")
        options.isDryRun = try call.flag("dryRun")
        if let wait = try call.number("wait", in: 0...Int64(waitLimit)) {
            options.lockLimit = .seconds(wait)
            options.serviceLimit = .seconds(wait)
        }
        return options
    }

    /// The app in a call's body.
    /// - Throws: also `AuthError` `invalidParameter` when it is another one than the path names.
    private static func files(of call: AdminCall) async throws -> AppFiles {
        let choices = DeploymentChoices(appId: call.text("appId"), syncBy: call.text("syncBy"))
        let archive = call.body ?? []
        // Unpacking and reading may take seconds, for which no thread of Swift's may be blocked.
        let (files, inspection): (AppFiles, AppDefinition.Inspection) = try await withCheckedThrowingContinuation {
            continuation in
            BlockingWork.run {
                continuation.resume(
                    with: Result {
                        let files = try AppSource.files(of: archive, named: "the archive", choices: choices)
                        return (files, AppDefinition.inspect(files))
                    })
            }
        }
        guard inspection.isDeployable else { throw AppDefinitionError(problems: inspection.problems) }
        let id = inspection.definition.id
        guard id.hasSameBytes(as: call.app) else {
            throw AuthError(.invalidParameter, "the archive has the app \(id), and the path names \(call.app)")
        }
        return files
    }
}

extension Value {
    fileprivate static func texts(_ texts: [String]) -> Value { .array(texts.map(Value.string)) }
}
