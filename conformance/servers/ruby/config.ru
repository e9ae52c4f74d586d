# Action Cable without the rest of Rails: a client subscribes to RoomChannel with a room, and POST /publish?room=… sends
# its body there. The channels are of this process (the adapter `async`).

require 'logger'
require 'rails'
require 'action_cable/engine'

class Cable < Rails::Application
  config.root = __dir__
  config.eager_load = false
  config.logger = Logger.new($stderr)
  config.log_level = :warn
  config.secret_key_base = 'here'
  config.hosts.clear
  config.action_cable.disable_request_forgery_protection = true
  config.action_cable.cable = { 'adapter' => 'async' }
end
Cable.initialize!

class RoomChannel < ActionCable::Channel::Base
  def subscribed
    stream_from params[:room]
  end
end

map('/cable') { run ActionCable.server }
map('/publish') do
  run lambda { |env|
    request = Rack::Request.new(env)
    ActionCable.server.broadcast(request.params['room'], request.body.read)
    [204, {}, []]
  }
end
