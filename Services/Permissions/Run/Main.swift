import Permissions

@main
enum Main {
    static func main() async { await PermissionsServer.main.run { try PermissionsServer.make(&$0) } }
}
