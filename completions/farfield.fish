# fish completion for farfield
complete -c farfield -f
complete -c farfield -n __fish_use_subcommand -a kernel -d 'kernel matrices, limits, the supremum'
complete -c farfield -n __fish_use_subcommand -a info -d 'this build; the architecture language'
complete -c farfield -n __fish_use_subcommand -a demo -d 'what one layer norm changes'
complete -c farfield -n __fish_use_subcommand -a help -d 'the options of a verb'
complete -c farfield -n __fish_use_subcommand -l version -d 'print the version'

set -l kernel '__fish_seen_subcommand_from kernel'
complete -c farfield -n $kernel -F
complete -c farfield -n $kernel -s a -l arch -x -d 'the network'
complete -c farfield -n $kernel -l get -x -a 'ntk nngp' -d 'which kernel'
complete -c farfield -n $kernel -l param -x -a 'ntk standard' -d 'parametrisation'
complete -c farfield -n $kernel -l dtype -x -a 'f64 f32' -d 'precision'
complete -c farfield -n $kernel -l diag -d 'only the diagonal'
complete -c farfield -n $kernel -l lower -d 'only the lower triangle'
complete -c farfield -n $kernel -l at-infinity -r -F -d 'directions'
complete -c farfield -n $kernel -l sup -d 'the supremum of the diagonal'
complete -c farfield -n $kernel -l inputs -x -d 'number of inputs'
complete -c farfield -n $kernel -s o -l output -r -F -d 'write a file'
complete -c farfield -n $kernel -s q -l quiet -d 'no talk'
complete -c farfield -n $kernel -l threads -x -d 'number of threads'

complete -c farfield -n '__fish_seen_subcommand_from info' -a arch -d 'the architecture language'
complete -c farfield -n '__fish_seen_subcommand_from demo' -s q -l quiet -d 'only the table'
complete -c farfield -n '__fish_seen_subcommand_from help' -a 'kernel info demo'
complete -c farfield -n '__fish_seen_subcommand_from kernel info demo' -l json -d 'print JSON'
complete -c farfield -n '__fish_seen_subcommand_from kernel info demo' -s h -l help -d 'help'
