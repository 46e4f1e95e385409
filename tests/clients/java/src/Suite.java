/** The functional suite of the Java client, and of the console and admin tools. */
final class Suite {
    public static void main(String[] arguments) throws Exception {
        Tools.register();
        Groups.register();
        Topics.register();
        Records.register();
        Places.register();
        Timestamps.register();
        Settings.register();
        GroupAdmin.register();
        Harness.main("java", arguments);
    }
}
