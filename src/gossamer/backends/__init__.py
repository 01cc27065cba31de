"""Everything that talks to a driver or a file format of its own. The only place that imports one."""
